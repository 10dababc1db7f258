// Portals: an agent shown to visitors, on a page of its own and on sites of others.
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { Problem } from '../../shared/problem.ts'
import { api, must, type Schemas } from '../api.ts'
import { type Doc, Fields, type Spec } from '../forms.tsx'
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
                  <th>Named visitors</th>
                  <th>Changed</th>
                  <th>
                    <span className="bl-hidden">Actions</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {data.map((p) => (
                  <tr key={p.slug}>
                    <td>
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
                    <td className="tight">{p.hasSecret ? 'yes' : 'no'}</td>
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
          onSaved={changed}
        />
      )}
      {showing && <Snippet portal={showing} onClose={() => setShowing(undefined)} />}
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

function Snippet({ portal, onClose }: { portal: Portal; onClose: () => void }) {
  const at = location.origin
  return (
    <Dialog title={`Show ${portal.config.title || portal.slug} on your site`} onClose={onClose} wide>
      <p>One line, anywhere in the page. The site must be among the portal’s.</p>
      <Command text={`<script src="${at}/embed.js" data-portal="${portal.slug}" async></script>`} />
      <p>Or the page itself, in a frame:</p>
      <Command text={`<iframe src="${at}/p/${portal.slug}" title="Chat" width="410" height="640"></iframe>`} />
      <p>
        Its own page:{' '}
        <a className="text-link" href={`/p/${portal.slug}`} target="_blank" rel="noreferrer">
          {at}/p/{portal.slug}
        </a>
      </p>
    </Dialog>
  )
}

function PortalDialog({
  portal,
  onClose,
  onSaved,
}: {
  portal?: Portal
  onClose: () => void
  onSaved: () => Promise<void>
}) {
  const agents = useQuery(agentsQuery)
  const [slug, setSlug] = useState(portal?.slug ?? '')
  const [config, setConfig] = useState<Doc>((portal?.config ?? {}) as Doc)
  const [secret, setSecret] = useState('')
  const [error, setError] = useState<unknown>()
  const faults = error instanceof Problem && error.param ? [{ field: error.param, message: error.message }] : []
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
    { path: 'approvals', label: 'Visitors decide approvals of their own conversations', kind: 'check' },
    { path: 'a2a', label: 'Other agents may ask it too, without a token', kind: 'check' },
    { path: 'paused', label: 'Paused: answers nobody', kind: 'check' },
    {
      path: 'limits.message_chars',
      label: 'Longest message',
      kind: 'number',
      placeholder: '8000',
      hint: 'In characters',
    },
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
  ]
  const submit = async (e: FormEvent) => {
    e.preventDefault()
    setError(undefined)
    const body = { config: config as unknown as Portal['config'], secret: secret || undefined }
    try {
      if (portal) await must(api.PUT('/portals/{slug}', { params: { path: { slug: portal.slug } }, body }))
      else await must(api.POST('/portals', { body: { slug, ...body } }))
      await onSaved()
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
        <Fields specs={specs} doc={config} onChange={setConfig} prefix="config" faults={faults} />
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
