import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { type FormEvent, useEffect, useRef, useState } from 'react'
import { api, must } from './api.ts'
import { Logo } from './Logo.tsx'
import { stream } from './live.ts'
import { meQuery } from './me.ts'
import { Button, Failure, Field } from './ui.tsx'

export function SignIn() {
  const { next } = useSearch({ from: '/sign-in' })
  const navigate = useNavigate()
  const queries = useQueryClient()
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>()
  const button = useRef<HTMLButtonElement>(null)

  // `belay dev` says whom it made; anywhere else there is no hint.
  const hint = useQuery({
    queryKey: ['hint'],
    queryFn: () => must(api.GET('/auth/hint')),
    retry: false,
    staleTime: Infinity,
  })
  useEffect(() => {
    if (!hint.data) return
    setEmail((e) => e || (hint.data?.email ?? ''))
    setPassword((p) => p || (hint.data?.password ?? ''))
    button.current?.focus()
  }, [hint.data])

  const submit = async (e: FormEvent) => {
    e.preventDefault()
    setBusy(true)
    setError(undefined)
    try {
      const me = await must(api.POST('/auth/sign-in', { body: { email, password } }))
      queries.clear()
      queries.setQueryData(meQuery.queryKey, me)
      stream().reopen()
      await navigate({ href: next?.startsWith('/') && !next.startsWith('//') ? next : '/agents' })
    } catch (e) {
      setError(e)
      setBusy(false)
    }
  }

  return (
    <main className="flex min-h-full items-center justify-center p-6">
      <form className="w-full max-w-[360px]" onSubmit={submit}>
        <div className="mb-6 flex items-center gap-3">
          <Logo size={32} />
          <h1 className="text-[21px] font-semibold tracking-tight">Sign in to Belay</h1>
        </div>
        {error !== undefined && <Failure error={error} />}
        <div className="flex flex-col gap-4">
          <Field label="E-mail">
            {(c) => (
              <input
                {...c}
                className="input"
                type="email"
                autoComplete="username"
                required
                value={email}
                onChange={(e) => setEmail(e.target.value)}
              />
            )}
          </Field>
          <Field label="Password">
            {(c) => (
              <input
                {...c}
                className="input"
                type="password"
                autoComplete="current-password"
                required
                value={password}
                onChange={(e) => setPassword(e.target.value)}
              />
            )}
          </Field>
          <Button ref={button} type="submit" primary disabled={busy} className="bl-button mt-2">
            {busy ? 'Signing in…' : 'Sign in'}
          </Button>
        </div>
        {hint.data && <p className="mt-4 text-[13px] text-ink-3">This is a demo: its sign-in is filled in.</p>}
      </form>
    </main>
  )
}
