import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { explain, Problem } from '../../shared/problem.ts'
import { api, must, type Schemas } from '../api.ts'
import { useMe } from '../me.ts'
import { Ago, Button, Command, Confirm, Dialog, Empty, Failure, Field, Loaded, Page, useToast } from '../ui.tsx'

type Member = Schemas['Member']
type Role = Schemas['Role']

const roles: [Role, string][] = [
  ['owner', 'May do everything'],
  ['builder', 'Makes, publishes and runs agents; keeps models, tools and tokens'],
  ['operator', 'Runs agents, reads and stops all sessions, approves'],
  ['viewer', 'Reads'],
]

export function Members() {
  const me = useMe()
  const query = useQuery({ queryKey: ['members'], queryFn: () => must(api.GET('/members')) })
  const queries = useQueryClient()
  const toast = useToast()
  const [adding, setAdding] = useState(false)
  const [removing, setRemoving] = useState<Member>()
  const [resetting, setResetting] = useState<Member>()
  const [password, setPassword] = useState<string>()
  const changed = () => queries.invalidateQueries({ queryKey: ['members'] })

  const setRole = async (m: Member, role: Role) => {
    try {
      await must(api.PATCH('/members/{userId}', { params: { path: { userId: m.userId } }, body: { role } }))
    } catch (e) {
      toast(explain(e))
    }
    await changed()
  }

  return (
    <Page
      title="Members"
      actions={
        <Button primary onClick={() => setAdding(true)}>
          Add member
        </Button>
      }
    >
      <Loaded
        query={query}
        empty={(d) =>
          d.data.length === 0 ? <Empty title="Nobody is a member" command="belay user create" /> : undefined
        }
      >
        {({ data }) => (
          <div className="table-box" tabIndex={0}>
            <table className="table">
              <thead>
                <tr>
                  <th>Name</th>
                  <th>E-mail</th>
                  <th>Role</th>
                  <th>Last sign-in</th>
                  <th>
                    <span className="bl-hidden">Actions</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {data.map((m) => (
                  <tr key={m.userId}>
                    <td className="font-medium">
                      {m.name}
                      {me?.user.id === m.userId && <span className="ml-2 font-normal text-ink-3">you</span>}
                    </td>
                    <td>{m.email}</td>
                    <td className="tight">
                      <select
                        className="input select-small"
                        aria-label={`Role of ${m.name || m.email}`}
                        value={m.role}
                        onChange={(e) => void setRole(m, e.target.value as Role)}
                      >
                        {roles.map(([r]) => (
                          <option key={r}>{r}</option>
                        ))}
                      </select>
                    </td>
                    <td className="tight">
                      <Ago at={m.lastSignInAt} />
                    </td>
                    <td className="tight text-right">
                      <Button quiet onClick={() => setResetting(m)}>
                        New password<span className="bl-hidden"> for {m.email}</span>
                      </Button>
                      <Button quiet onClick={() => setRemoving(m)}>
                        Remove<span className="bl-hidden"> {m.email}</span>
                      </Button>
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </Loaded>
      <h2 className="section-title">Roles</h2>
      <dl className="panel panel-pad grid grid-cols-[auto_1fr] gap-x-6 gap-y-1.5 text-[13.5px]">
        {roles.map(([r, what]) => (
          <div key={r} className="contents">
            <dt className="font-medium">{r}</dt>
            <dd className="text-ink-2">{what}</dd>
          </div>
        ))}
      </dl>
      {adding && (
        <AddMember
          onClose={() => setAdding(false)}
          onAdded={(p) => {
            setAdding(false)
            setPassword(p ?? undefined)
            void changed()
          }}
        />
      )}
      {resetting && (
        <Confirm
          title={`Give ${resetting.email} a new password?`}
          verb="Make new password"
          onClose={() => setResetting(undefined)}
          run={async () => {
            const a = await must(
              api.POST('/members/{userId}/password', { params: { path: { userId: resetting.userId } } }),
            )
            setPassword(a.password)
          }}
        >
          <p>It ends all of their sign-ins.</p>
        </Confirm>
      )}
      {removing && (
        <Confirm
          title={`Remove ${removing.email}?`}
          verb="Remove member"
          onClose={() => setRemoving(undefined)}
          run={async () => {
            await must(api.DELETE('/members/{userId}', { params: { path: { userId: removing.userId } } }))
            await changed()
          }}
        >
          <p>They may not see this project any more. Their sessions stay.</p>
        </Confirm>
      )}
      {password && (
        <Dialog title="Pass this password on" onClose={() => setPassword(undefined)}>
          <p>It is shown this once.</p>
          <Command text={password} />
          <div className="dialog-foot">
            <Button primary onClick={() => setPassword(undefined)}>
              I have it
            </Button>
          </div>
        </Dialog>
      )}
    </Page>
  )
}

function AddMember({ onClose, onAdded }: { onClose: () => void; onAdded: (password: string | null) => void }) {
  const [email, setEmail] = useState('')
  const [name, setName] = useState('')
  const [role, setRole] = useState<Role>('operator')
  const [error, setError] = useState<unknown>()
  const submit = async (e: FormEvent) => {
    e.preventDefault()
    setError(undefined)
    try {
      const added = await must(
        api.POST('/members', { body: { email: email.trim(), name: name.trim() || undefined, role } }),
      )
      onAdded(added.password)
    } catch (e) {
      setError(e)
    }
  }
  const fault = error instanceof Problem && error.param === 'email' ? error.message : undefined
  return (
    <Dialog title="Add member" onClose={onClose}>
      <form onSubmit={submit} className="flex flex-col gap-4">
        {error !== undefined && !fault && <Failure error={error} />}
        <Field label="E-mail" fault={fault}>
          {(c) => (
            <input
              {...c}
              className="input"
              type="email"
              required
              value={email}
              onChange={(e) => setEmail(e.target.value)}
            />
          )}
        </Field>
        <Field label="Name">
          {(c) => <input {...c} className="input" value={name} onChange={(e) => setName(e.target.value)} />}
        </Field>
        <Field label="Role" hint={roles.find(([r]) => r === role)?.[1]}>
          {(c) => (
            <select {...c} className="input" value={role} onChange={(e) => setRole(e.target.value as Role)}>
              {roles.map(([r]) => (
                <option key={r}>{r}</option>
              ))}
            </select>
          )}
        </Field>
        <p className="text-[13px] text-ink-3">
          Who has no account yet gets one, with a password that is shown to you once.
        </p>
        <div className="dialog-foot">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" primary>
            Add member
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
