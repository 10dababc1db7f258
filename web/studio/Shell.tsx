// The frame of all pages: navigation, who is signed in, the connection.
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, Outlet, useNavigate, useRouterState } from '@tanstack/react-router'
import {
  Activity,
  Bot,
  ChartColumn,
  CircleUser,
  Globe,
  Hand,
  KeyRound,
  Layers,
  MessagesSquare,
  ScrollText,
  Timer,
  Users,
} from 'lucide-react'
import { DropdownMenu } from 'radix-ui'
import { type ReactNode, useEffect, useState } from 'react'
import { Lost } from '../shared/chat/Lost.tsx'
import { api, must, type Permission } from './api.ts'
import { Logo } from './Logo.tsx'
import { stream, useInbox, useNode } from './live.ts'
import { type Me, meQuery, useMay } from './me.ts'
import { applyTheme, savedTheme, type Theme } from './theme.ts'

export function Shell() {
  const { data: me } = useQuery(meQuery)
  const navigate = useNavigate()
  const queries = useQueryClient()
  const here = useRouterState({ select: (s) => s.location.href })

  useEffect(() => stream().onSignedOut(() => queries.setQueryData(meQuery.queryKey, null)), [queries])
  useEffect(() => {
    if (me === null) void navigate({ to: '/sign-in', search: { next: here } })
  }, [me, navigate, here])

  if (!me) return null
  return (
    <div className="shell">
      <a href="#main" className="bl-hidden focus:not-sr-only">
        Skip to the page
      </a>
      <Side me={me} />
      <div className="main">
        <Lost stream={stream()} running={false} />
        <Outlet />
      </div>
    </div>
  )
}

function Side({ me }: { me: Me }) {
  const inbox = useInbox()
  const waiting = inbox?.open ?? 0
  return (
    <div className="side">
      <Link to="/agents" className="brand" aria-label="Belay, home">
        <Logo />
        Belay
      </Link>
      <nav className="nav" aria-label="Studio">
        <Item to="/agents" needs="agent.view" icon={<Bot size={16} />}>
          Agents
        </Item>
        <Item to="/sessions" icon={<MessagesSquare size={16} />}>
          Sessions
        </Item>
        <Item to="/runs" icon={<Timer size={16} />}>
          Background runs
        </Item>
        <Item to="/approvals" icon={<Hand size={16} />}>
          Approvals
          {waiting > 0 && (
            <span className="nav-count">
              {waiting}
              <span className="bl-hidden"> open</span>
            </span>
          )}
        </Item>
        <div className="nav-group">Watch</div>
        <Item to="/operations" needs="operations.view" icon={<Activity size={16} />}>
          Live operations
        </Item>
        <Item to="/usage" needs="usage.view" icon={<ChartColumn size={16} />}>
          Usage
        </Item>
        <Item to="/audit" needs="operations.view" icon={<ScrollText size={16} />}>
          Audit
        </Item>
        <div className="nav-group">Set up</div>
        <Item to="/models" needs="agent.view" icon={<Layers size={16} />}>
          Models and tools
        </Item>
        <Item to="/portals" needs="agent.view" icon={<Globe size={16} />}>
          Portals
        </Item>
        <Item to="/tokens" needs="token.manage" icon={<KeyRound size={16} />}>
          API tokens
        </Item>
        <Item to="/members" needs="member.manage" icon={<Users size={16} />}>
          Members
        </Item>
      </nav>
      <Account me={me} />
    </div>
  )
}

type Place =
  | '/agents'
  | '/sessions'
  | '/runs'
  | '/approvals'
  | '/operations'
  | '/usage'
  | '/audit'
  | '/models'
  | '/portals'
  | '/tokens'
  | '/members'

function Item({ to, needs, icon, children }: { to: Place; needs?: Permission; icon: ReactNode; children: ReactNode }) {
  const may = useMay()
  if (needs && !may(needs)) return null
  return (
    <Link to={to} activeProps={{ 'aria-current': 'page' }} activeOptions={{ includeSearch: false }}>
      <span aria-hidden="true">{icon}</span>
      {children}
    </Link>
  )
}

function Account({ me }: { me: Me }) {
  const queries = useQueryClient()
  const navigate = useNavigate()
  const node = useNode()
  const [theme, setTheme] = useState(savedTheme)
  const choose = (t: Theme) => {
    applyTheme(t)
    setTheme(t)
  }
  const signOut = async () => {
    await must(api.POST('/auth/sign-out'))
    queries.clear()
    queries.setQueryData(meQuery.queryKey, null)
  }
  const goTo = async (projectId: string) => {
    await must(api.POST('/auth/project', { body: { projectId } }))
    stream().reopen()
    location.assign('/studio')
  }
  return (
    <div className="mt-auto flex items-center pt-4">
      <DropdownMenu.Root modal={false}>
        <DropdownMenu.Trigger className="flex min-w-0 flex-1 items-center gap-2 rounded-md px-2 py-1.5 text-left hover:bg-hover">
          <CircleUser size={18} aria-hidden="true" className="flex-none text-ink-3" />
          <span className="min-w-0">
            <span className="block truncate text-[13px] font-medium">{me.user.name}</span>
            <span className="block truncate text-[12px] text-ink-3">
              {me.project.key} · {me.project.role}
            </span>
          </span>
        </DropdownMenu.Trigger>
        <DropdownMenu.Content className="menu" align="start" side="top" sideOffset={6}>
          {me.projects.length > 1 && (
            <>
              <DropdownMenu.Label className="menu-label">Project</DropdownMenu.Label>
              {me.projects.map((p) => (
                <DropdownMenu.CheckboxItem
                  key={p.id}
                  className="menu-item"
                  checked={p.id === me.project.id}
                  onSelect={() => void goTo(p.id)}
                >
                  {p.key}
                  {p.id === me.project.id && <span className="ml-auto text-ink-3">here</span>}
                </DropdownMenu.CheckboxItem>
              ))}
            </>
          )}
          <DropdownMenu.Label className="menu-label">Colours</DropdownMenu.Label>
          <DropdownMenu.RadioGroup value={theme} onValueChange={(t) => choose(t as Theme)}>
            {(['system', 'light', 'dark'] as const).map((t) => (
              <DropdownMenu.RadioItem key={t} value={t} className="menu-item">
                {t === 'system' ? 'As the system' : t === 'light' ? 'Light' : 'Dark'}
                <DropdownMenu.ItemIndicator className="ml-auto text-accent">✓</DropdownMenu.ItemIndicator>
              </DropdownMenu.RadioItem>
            ))}
          </DropdownMenu.RadioGroup>
          <DropdownMenu.Separator className="my-1 h-px bg-line" />
          <DropdownMenu.Item className="menu-item" onSelect={() => void navigate({ to: '/account' })}>
            Your account
          </DropdownMenu.Item>
          <DropdownMenu.Item className="menu-item" onSelect={() => void signOut()}>
            Sign out
          </DropdownMenu.Item>
          {node && <div className="menu-label">Served by {node}</div>}
        </DropdownMenu.Content>
      </DropdownMenu.Root>
    </div>
  )
}
