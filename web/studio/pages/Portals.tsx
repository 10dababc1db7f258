// Portals: an agent shown to visitors, on a page of its own and on sites of others.
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, type ReactNode, useState } from 'react'
import { api, must, type Schemas } from '../api.ts'
import { type Doc, Fields, faultsOf, type Spec } from '../forms.tsx'
import { useMay } from '../me.ts'
import { Ago, Button, Command, Confirm, Dialog, Empty, Failure, Field, Loaded, Page, StateChip } from '../ui.tsx'
import { agentsQuery } from './Agents.tsx'

type Portal = Schemas['Portal']

export function Portals() {
  const manage = useMay()('portal.manage')
  const queries = useQueryClient()
  const query = useQuery({ queryKey: ['portals'], queryFn: () => must(api.GET('/portals')) })
  const [editing, setEditing] = useState<Portal | 'new'>()
  const [showing, setShowing] = useState<Portal>()
  const [deleting, setDeleting] = useState<Portal>()
  const changed = () => queries.invalidateQueries({ queryKey: ['portals'] })
  const add = manage && (
    <Button primary onClick={() => setEditing('new')}>
      New portal
    </Button>
  )
  return (
    <Page title="Portals" actions={add}>
      <Loaded
        query={query}
        empty={(d) =>
          d.data.length === 0 ? (
            <Empty title="No portals yet">
              <p>A portal shows a published agent to visitors: on a page of its own, and in one line on your site.</p>
            </Empty>
          ) : undefined
        }
      >
        {({ data }) => (
          <div className="table-box" tabIndex={0}>
            <table className="table">
              <thead>
                <tr>
                  <th>Portal</th>
                  <th>Agent</th>
                  <th>State</th>
                  <th>Sites</th>
                  <th>Visitors</th>
                  <th>Changed</th>
                  <th>
                    <span className="bl-hidden">Actions</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {data.map((p) => (
                  <tr key={p.slug}>
                    <td className="tight">
                      <a className="row-link" href={`/p/${p.slug}`} target="_blank" rel="noreferrer">
                        {p.config.title || p.slug}
                      </a>
                      <span className="ml-2 font-mono text-[12px] text-ink-3">/p/{p.slug}</span>
                    </td>
                    <td className="tight">{p.config.agent}</td>
                    <td className="tight">
                      <StateChip
                        state={p.config.paused ? 'disabled' : 'active'}
                        word={p.config.paused ? 'Paused' : 'Open'}
                      />
                    </td>
                    <td>{p.config.origins?.join(', ') || 'its own page only'}</td>
                    <td className="tight">{visitorsWord(p)}</td>
                    <td className="tight">
                      <Ago at={p.updatedAt} />
                    </td>
                    <td className="tight text-right">
                      <Button quiet onClick={() => setShowing(p)}>
                        Embed<span className="bl-hidden"> {p.slug}</span>
                      </Button>
                      {manage && (
                        <>
                          <Button quiet onClick={() => setEditing(p)}>
                            Edit<span className="bl-hidden"> {p.slug}</span>
                          </Button>
                          <Button quiet onClick={() => setDeleting(p)}>
                            Delete<span className="bl-hidden"> {p.slug}</span>
                          </Button>
                        </>
                      )}
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </Loaded>
      {editing && (
        <PortalDialog
          portal={editing === 'new' ? undefined : editing}
          onClose={() => setEditing(undefined)}
          onSaved={async (p) => {
            await changed()
            // What has just been made is shown, to be looked at and put somewhere.
            if (editing === 'new') setShowing(p)
          }}
        />
      )}
      {showing && <Show portal={showing} onClose={() => setShowing(undefined)} />}
      {deleting && (
        <Confirm
          title={`Delete ${deleting.slug}?`}
          verb="Delete portal"
          onClose={() => setDeleting(undefined)}
          run={async () => {
            await must(api.DELETE('/portals/{slug}', { params: { path: { slug: deleting.slug } } }))
            await changed()
          }}
        >
          <p>Visitors find nothing there any more. Their conversations stay with the project.</p>
        </Confirm>
      )}
    </Page>
  )
}

function visitorsWord({ config, hasSecret }: Portal): string {
  if (config.anonymous !== false) return hasSecret ? 'anyone, some named' : 'anyone'
  return hasSecret ? 'only named ones' : 'nobody: no secret'
}

/** The portal as visitors see it, beside what puts it on a site. */
function Show({ portal, onClose }: { portal: Portal; onClose: () => void }) {
  const { config, slug } = portal
  const name = config.title || slug
  const page = `${location.origin}/p/${slug}`
  const script = (more = '') => `<script src="${location.origin}/embed.js" data-portal="${slug}"${more} async></script>`
  return (
    <Dialog title={name} onClose={onClose} wide>
      <div className="grid gap-6 min-[820px]:grid-cols-[minmax(0,1fr)_minmax(0,380px)]">
        <div className="flex min-w-0 flex-col gap-5 text-[13.5px]">
          <Way title="On your site" text={script()}>
            <SitesLine origins={config.origins ?? []} />
          </Way>
          {portal.hasSecret && (
            <Way title="For a visitor whom your site names" text={script(' data-token="TOKEN"')}>
              TOKEN is a JWT that your server signs with the portal’s secret (HS256): sub, an id of the visitor that
              stays; name, to be shown; exp. Never sign it in the page.
            </Way>
          )}
          <Way
            title="In a frame"
            text={`<iframe src="${page}" title="${attribute(name)}" width="410" height="640"></iframe>`}
          >
            For pages that take no scripts of others. The same sites may frame it.
          </Way>
          <Way title="On its own page" text={page}>
            <a className="text-link" href={`/p/${slug}`} target="_blank" rel="noreferrer">
              Open it in a new tab
            </a>
          </Way>
        </div>
        <Preview portal={portal} />
      </div>
    </Dialog>
  )
}

function Way({ title, text, children }: { title: string; text: string; children: ReactNode }) {
  return (
    <section>
      <h3 className="font-semibold">{title}</h3>
      <Command text={text} />
      <p className="mt-1.5 text-[13px] text-ink-3">{children}</p>
    </section>
  )
}

function SitesLine({ origins }: { origins: string[] }) {
  if (origins.length === 0) return <>No site may embed it yet: edit the portal and name yours.</>
  return <>Anywhere in a page of {origins.join(', ')}. Pages of other sites get nothing.</>
}

// For the value of an attribute of HTML.
function attribute(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;')
}

function Preview({ portal: { slug, config, updatedAt } }: { portal: Portal }) {
  if (config.paused || config.anonymous === false)
    return (
      <Empty title={config.paused ? 'Paused' : 'Only for visitors with a name'}>
        <p>
          {config.paused
            ? 'It answers nobody, and so there is nothing to show. Edit the portal to open it.'
            : 'Nobody comes in without a token of your site, and so there is nothing to show here. Look at it on the site.'}
        </p>
      </Empty>
    )
  return (
    <figure className="min-w-0">
      <iframe
        key={updatedAt}
        className="h-[min(560px,calc(100vh-220px))] min-h-[360px] w-full rounded-lg border border-line"
        src={`/p/${slug}`}
        title={`Preview of ${config.title || slug}`}
      />
      <figcaption className="mt-1.5 text-[13px] text-ink-3">
        Live: what is written here is a real conversation.
      </figcaption>
    </figure>
  )
}

function PortalDialog({
  portal,
  onClose,
  onSaved,
}: {
  portal?: Portal
  onClose: () => void
  onSaved: (p: Portal) => Promise<void>
}) {
  const agents = useQuery(agentsQuery)
  const [slug, setSlug] = useState(portal?.slug ?? '')
  const [config, setConfig] = useState<Doc>((portal?.config ?? {}) as Doc)
  const [secret, setSecret] = useState('')
  const [error, setError] = useState<unknown>()
  const faults = faultsOf(error)
  const nobody = config.anonymous === false && !portal?.hasSecret && secret === ''
  const warnings = nobody
    ? [{ field: 'config.anonymous', message: 'Nobody can come in: a site names visitors with the secret below' }]
    : []
  const specs: Spec[] = [
    {
      path: 'agent',
      label: 'Agent',
      kind: 'select',
      options: (agents.data?.data ?? []).filter((a) => a.publishedVersion !== null).map((a) => [a.id, a.name || a.id]),
      hint: 'Its published version answers',
    },
    { path: 'title', label: 'Title', kind: 'text', placeholder: 'the agent’s name' },
    { path: 'welcome', label: 'Welcome', kind: 'area', rows: 2, hint: 'Shown before the first message' },
    {
      path: 'origins',
      label: 'Sites that may embed it',
      kind: 'lines',
      hint: 'Origins such as https://example.com, one a line',
      wide: true,
    },
    {
      path: 'anonymous',
      label: 'Anyone may chat',
      kind: 'check',
      flush: true,
      otherwise: true,
      hint: 'Off: only visitors whom a site has named with a token',
    },
    { path: 'approvals', label: 'Visitors decide approvals of their own conversations', kind: 'check', flush: true },
    { path: 'a2a', label: 'Other agents may ask it too, without a token', kind: 'check', flush: true },
    { path: 'paused', label: 'Paused: answers nobody', kind: 'check', flush: true },
    { path: 'limits.visitor_per_minute', label: 'Messages of a visitor a minute', kind: 'number', placeholder: '20' },
    { path: 'limits.portal_per_minute', label: 'Messages of all a minute', kind: 'number', placeholder: '600' },
    {
      path: 'limits.visitor_usd_per_day',
      label: 'Cost of a visitor a day',
      kind: 'number',
      step: 0.01,
      placeholder: 'no limit',
      hint: 'In US dollars',
    },
    {
      path: 'limits.portal_usd_per_day',
      label: 'Cost of all a day',
      kind: 'number',
      step: 0.01,
      placeholder: 'no limit',
      hint: 'In US dollars',
    },
    {
      path: 'limits.message_chars',
      label: 'Longest message',
      kind: 'number',
      placeholder: '8000',
      hint: 'In characters',
    },
  ]
  const submit = async (e: FormEvent) => {
    e.preventDefault()
    setError(undefined)
    const body = { config: config as unknown as Portal['config'], secret: secret || undefined }
    try {
      const saved = portal
        ? await must(api.PUT('/portals/{slug}', { params: { path: { slug: portal.slug } }, body }))
        : await must(api.POST('/portals', { body: { slug, ...body } }))
      await onSaved(saved)
      onClose()
    } catch (e) {
      setError(e)
    }
  }
  return (
    <Dialog title={portal ? `Portal ${portal.slug}` : 'New portal'} onClose={onClose} wide>
      <form onSubmit={submit} className="flex flex-col gap-4">
        {error !== undefined && faults.length === 0 && <Failure error={error} />}
        {!portal && (
          <Field label="Slug" hint="Of its address: /p/slug" fault={faults.find((f) => f.field === 'slug')?.message}>
            {(c) => (
              <input {...c} className="input mono" required value={slug} onChange={(e) => setSlug(e.target.value)} />
            )}
          </Field>
        )}
        <Fields specs={specs} doc={config} onChange={setConfig} prefix="config" faults={faults} warnings={warnings} />
        <Field
          label="Secret for named visitors"
          hint={
            portal?.hasSecret
              ? 'One is stored; leave this empty to keep it'
              : '32 characters or more; your server signs visitors’ tokens with it'
          }
          fault={faults.find((f) => f.field === 'secret')?.message}
        >
          {(c) => (
            <input
              {...c}
              className="input"
              type="password"
              autoComplete="off"
              value={secret}
              onChange={(e) => setSecret(e.target.value)}
            />
          )}
        </Field>
        <div className="dialog-foot">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" primary>
            {portal ? 'Save' : 'Make portal'}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
