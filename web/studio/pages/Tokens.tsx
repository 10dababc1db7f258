import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { Problem } from '../../shared/problem.ts'
import { exact } from '../../shared/ui/time.ts'
import { api, must, type Permission, type Schemas } from '../api.ts'
import { useMe } from '../me.ts'
import { Ago, Button, Command, Confirm, Dialog, Empty, Failure, Field, Loaded, Page, StateChip } from '../ui.tsx'

type Token = Schemas['Token']

const words: Record<Permission, string> = {
  'agent.view': 'See agents',
  'agent.run': 'Run agents',
  'agent.manage': 'Change agents',
  'agent.publish': 'Publish agents',
  'agent.session_view_others': 'Read others’ sessions',
  'agent.session_manage_others': 'Act on others’ sessions, stop them',
  'agent.approve': 'Answer approvals',
  'token.manage': 'Manage tokens',
  'portal.manage': 'Manage portals',
  'model.manage': 'Manage models and tools',
  'member.manage': 'Manage members',
  'usage.view': 'See usage',
  'operations.view': 'See operations',
}

export function Tokens() {
  const query = useQuery({ queryKey: ['tokens'], queryFn: () => must(api.GET('/tokens')) })
  const queries = useQueryClient()
  const [making, setMaking] = useState(false)
  const [revoking, setRevoking] = useState<Token>()
  const [secret, setSecret] = useState<string>()
  const changed = () => queries.invalidateQueries({ queryKey: ['tokens'] })
  return (
    <Page
      title="API tokens"
      actions={
        <Button primary onClick={() => setMaking(true)}>
          New token
        </Button>
      }
    >
      <Loaded
        query={query}
        empty={(d) =>
          d.data.length === 0 ? (
            <Empty title="No tokens yet" command="belay token create --name me">
              <p>Programs use the API with a token. Make one here, or on the command line.</p>
            </Empty>
          ) : undefined
        }
      >
        {({ data }) => (
          <div className="table-box" tabIndex={0}>
            <table className="table">
              <thead>
                <tr>
                  <th>Name</th>
                  <th>Token</th>
                  <th>Permissions</th>
                  <th>Last used</th>
                  <th>Made</th>
                  <th>Expires</th>
                  <th>
                    <span className="bl-hidden">Actions</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {data.map((t) => (
                  <tr key={t.id}>
                    <td className="font-medium">{t.name}</td>
                    <td className="font-mono text-[12px]">{t.prefix}…</td>
                    <td title={t.permissions.join('\n')}>
                      {t.permissions.length === Object.keys(words).length
                        ? 'all'
                        : `${t.permissions.length} of ${Object.keys(words).length}`}
                    </td>
                    <td className="tight">
                      <Ago at={t.lastUsedAt} />
                    </td>
                    <td className="tight">
                      <Ago at={t.createdAt} />
                    </td>
                    <td className="tight" title={t.expiresAt ? exact(t.expiresAt) : undefined}>
                      {t.expiresAt ? <Ago at={t.expiresAt} /> : 'never'}
                    </td>
                    <td className="tight text-right">
                      {t.revokedAt ? (
                        <StateChip state="disabled" word="Revoked" />
                      ) : (
                        <Button quiet onClick={() => setRevoking(t)}>
                          Revoke<span className="bl-hidden"> {t.name}</span>
                        </Button>
                      )}
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </Loaded>
      {making && (
        <NewToken
          onClose={() => setMaking(false)}
          onMade={(s) => {
            setMaking(false)
            setSecret(s)
            void changed()
          }}
        />
      )}
      {secret && (
        <Dialog title="Copy the token now" onClose={() => setSecret(undefined)}>
          <p>It is shown this once. Only its hash is kept.</p>
          <Command text={secret} />
          <div className="dialog-foot">
            <Button primary onClick={() => setSecret(undefined)}>
              I have it
            </Button>
          </div>
        </Dialog>
      )}
      {revoking && (
        <Confirm
          title={`Revoke ${revoking.name}?`}
          verb="Revoke token"
          onClose={() => setRevoking(undefined)}
          run={async () => {
            await must(api.DELETE('/tokens/{tokenId}', { params: { path: { tokenId: revoking.id } } }))
            await changed()
          }}
        >
          <p>From the next request on it is refused. This can’t be undone.</p>
        </Confirm>
      )}
    </Page>
  )
}

const lives: [string, number | undefined][] = [
  ['Never', undefined],
  ['In 30 days', 30],
  ['In 90 days', 90],
  ['In a year', 365],
]

function NewToken({ onClose, onMade }: { onClose: () => void; onMade: (secret: string) => void }) {
  const mine = useMe()?.permissions ?? []
  const [name, setName] = useState('')
  const [days, setDays] = useState<number>()
  const [chosen, setChosen] = useState<Permission[]>(mine.filter((p) => p === 'agent.view' || p === 'agent.run'))
  const [error, setError] = useState<unknown>()
  const [busy, setBusy] = useState(false)
  const submit = async (e: FormEvent) => {
    e.preventDefault()
    setBusy(true)
    setError(undefined)
    try {
      const expiresAt = days ? new Date(Date.now() + days * 86_400_000).toISOString() : undefined
      const made = await must(api.POST('/tokens', { body: { name: name.trim(), permissions: chosen, expiresAt } }))
      onMade(made.secret)
    } catch (e) {
      setError(e)
      setBusy(false)
    }
  }
  const nameFault = error instanceof Problem && error.param === 'name' ? error.message : undefined
  return (
    <Dialog title="New token" onClose={onClose}>
      <form onSubmit={submit} className="flex flex-col gap-4">
        {error !== undefined && !nameFault && <Failure error={error} />}
        <Field label="Name" hint="What will use it" fault={nameFault}>
          {(c) => (
            <input
              {...c}
              className="input"
              required
              maxLength={200}
              value={name}
              onChange={(e) => setName(e.target.value)}
            />
          )}
        </Field>
        <Field label="Expires">
          {(c) => (
            <select
              {...c}
              className="input"
              value={days ?? ''}
              onChange={(e) => setDays(Number(e.target.value) || undefined)}
            >
              {lives.map(([word, n]) => (
                <option key={word} value={n ?? ''}>
                  {word}
                </option>
              ))}
            </select>
          )}
        </Field>
        <fieldset>
          <legend className="mb-2 text-[13px] font-medium">Permissions</legend>
          <div className="grid gap-2 min-[520px]:grid-cols-2">
            {mine.map((p) => (
              <label key={p} className="check" title={p}>
                <input
                  type="checkbox"
                  checked={chosen.includes(p)}
                  onChange={(e) => setChosen((c) => (e.target.checked ? [...c, p] : c.filter((x) => x !== p)))}
                />
                {words[p]}
              </label>
            ))}
          </div>
        </fieldset>
        <div className="dialog-foot">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" primary disabled={busy || chosen.length === 0}>
            Make token
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
