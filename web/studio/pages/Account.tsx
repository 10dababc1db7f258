import { type FormEvent, useState } from 'react'
import { api, must } from '../api.ts'
import { useMe } from '../me.ts'
import { Button, Failure, Field, Page, useToast } from '../ui.tsx'

export function Account() {
  const me = useMe()
  const toast = useToast()
  const [current, setCurrent] = useState('')
  const [next, setNext] = useState('')
  const [error, setError] = useState<unknown>()
  const submit = async (e: FormEvent) => {
    e.preventDefault()
    setError(undefined)
    try {
      await must(api.POST('/auth/password', { body: { current, new: next } }))
      setCurrent('')
      setNext('')
      toast('Password changed; other sign-ins of yours have ended')
    } catch (e) {
      setError(e)
    }
  }
  return (
    <Page title="Your account">
      <dl className="panel panel-pad mb-6 grid max-w-[560px] grid-cols-[auto_1fr] gap-x-6 gap-y-1.5">
        <dt className="text-ink-3">Name</dt>
        <dd>{me?.user.name}</dd>
        <dt className="text-ink-3">E-mail</dt>
        <dd>{me?.email}</dd>
        <dt className="text-ink-3">Role here</dt>
        <dd>
          {me?.project.role} of {me?.project.key}
        </dd>
      </dl>
      <form onSubmit={submit} className="flex max-w-[360px] flex-col gap-4">
        <h2 className="text-[15px] font-semibold">Change your password</h2>
        {error !== undefined && <Failure error={error} />}
        <Field label="Current password">
          {(c) => (
            <input
              {...c}
              className="input"
              type="password"
              autoComplete="current-password"
              required
              value={current}
              onChange={(e) => setCurrent(e.target.value)}
            />
          )}
        </Field>
        <Field label="New password" hint="10 characters or more">
          {(c) => (
            <input
              {...c}
              className="input"
              type="password"
              autoComplete="new-password"
              required
              minLength={10}
              maxLength={200}
              value={next}
              onChange={(e) => setNext(e.target.value)}
            />
          )}
        </Field>
        <div>
          <Button type="submit" primary>
            Change password
          </Button>
        </div>
      </form>
    </Page>
  )
}
