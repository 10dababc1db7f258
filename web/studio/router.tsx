import type { QueryClient } from '@tanstack/react-query'
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from '@tanstack/react-router'
import { meQuery } from './me.ts'
import { Shell } from './Shell.tsx'
import { SignIn } from './SignIn.tsx'
import { Empty, Failure, Page, Skeleton } from './ui.tsx'

const root = createRootRouteWithContext<{ queries: QueryClient }>()({
  component: Outlet,
  notFoundComponent: () => (
    <Page title="Not found">
      <Empty title="There is no such page">
        <a className="text-link" href="/studio">
          Go to the agents
        </a>
      </Empty>
    </Page>
  ),
})

const signIn = createRoute({
  getParentRoute: () => root,
  path: '/sign-in',
  validateSearch: (s: Record<string, unknown>): { next?: string } => ({ next: text(s.next) }),
  component: SignIn,
})

const shell = createRoute({
  getParentRoute: () => root,
  id: 'shell',
  beforeLoad: async ({ context, location }) => {
    const me = await context.queries.ensureQueryData(meQuery)
    if (!me) throw redirect({ to: '/sign-in', search: { next: location.href } })
  },
  component: Shell,
})

const home = createRoute({
  getParentRoute: () => shell,
  path: '/',
  beforeLoad: () => {
    throw redirect({ to: '/agents' })
  },
})

function text(v: unknown): string | undefined {
  return typeof v === 'string' && v !== '' ? v : undefined
}

const agents = createRoute({
  getParentRoute: () => shell,
  path: '/agents',
  component: lazyRouteComponent(() => import('./pages/Agents.tsx'), 'Agents'),
})

const newAgent = createRoute({
  getParentRoute: () => shell,
  path: '/agents/new',
  component: lazyRouteComponent(() => import('./pages/NewAgent.tsx'), 'NewAgent'),
})

export const agentRoute = createRoute({
  getParentRoute: () => shell,
  path: '/agents/$agentId',
  validateSearch: (s: Record<string, unknown>): { tab?: string } => ({ tab: text(s.tab) }),
  component: lazyRouteComponent(() => import('./pages/AgentEditor.tsx'), 'AgentEditor'),
})

// One page for a new chat and for its session, so that it stays when the one becomes the other.
const chat = createRoute({
  getParentRoute: () => shell,
  id: 'chat',
  component: lazyRouteComponent(() => import('./pages/SessionPage.tsx'), 'ChatPage'),
})

const newChat = createRoute({ getParentRoute: () => chat, path: '/agents/$agentId/chat' })

const session = createRoute({
  getParentRoute: () => chat,
  path: '/agents/$agentId/sessions/$sessionId',
  validateSearch: (s: Record<string, unknown>): { view?: string } => ({ view: text(s.view) }),
})

const openRun = createRoute({
  getParentRoute: () => shell,
  path: '/open/$runId',
  component: lazyRouteComponent(() => import('./pages/SessionPage.tsx'), 'FindSession'),
})

export interface SessionFilter {
  agent?: string
  state?: string
  door?: string
  owner?: string
  stopReason?: string
}

const sessions = createRoute({
  getParentRoute: () => shell,
  path: '/sessions',
  validateSearch: (s: Record<string, unknown>): SessionFilter => ({
    agent: text(s.agent),
    state: text(s.state),
    door: text(s.door),
    owner: text(s.owner),
    stopReason: text(s.stopReason),
  }),
  component: lazyRouteComponent(() => import('./pages/Sessions.tsx'), 'Sessions'),
})

const runs = createRoute({
  getParentRoute: () => shell,
  path: '/runs',
  validateSearch: (s: Record<string, unknown>): { agent?: string; state?: string } => ({
    agent: text(s.agent),
    state: text(s.state),
  }),
  component: lazyRouteComponent(() => import('./pages/Runs.tsx'), 'Runs'),
})

const approvals = createRoute({
  getParentRoute: () => shell,
  path: '/approvals',
  validateSearch: (s: Record<string, unknown>): { state?: string } => ({ state: text(s.state) }),
  component: lazyRouteComponent(() => import('./pages/Approvals.tsx'), 'Approvals'),
})

const operations = createRoute({
  getParentRoute: () => shell,
  path: '/operations',
  component: lazyRouteComponent(() => import('./pages/Operations.tsx'), 'OperationsPage'),
})

const usage = createRoute({
  getParentRoute: () => shell,
  path: '/usage',
  validateSearch: (s: Record<string, unknown>): { days?: number } => ({ days: Number(s.days) || undefined }),
  component: lazyRouteComponent(() => import('./pages/Usage.tsx'), 'UsagePage'),
})

const audit = createRoute({
  getParentRoute: () => shell,
  path: '/audit',
  validateSearch: (s: Record<string, unknown>): { action?: string } => ({ action: text(s.action) }),
  component: lazyRouteComponent(() => import('./pages/Audit.tsx'), 'Audit'),
})

const portals = createRoute({
  getParentRoute: () => shell,
  path: '/portals',
  component: lazyRouteComponent(() => import('./pages/Portals.tsx'), 'Portals'),
})

const models = createRoute({
  getParentRoute: () => shell,
  path: '/models',
  component: lazyRouteComponent(() => import('./pages/Models.tsx'), 'Models'),
})

const tokens = createRoute({
  getParentRoute: () => shell,
  path: '/tokens',
  component: lazyRouteComponent(() => import('./pages/Tokens.tsx'), 'Tokens'),
})

const members = createRoute({
  getParentRoute: () => shell,
  path: '/members',
  component: lazyRouteComponent(() => import('./pages/Members.tsx'), 'Members'),
})

const account = createRoute({
  getParentRoute: () => shell,
  path: '/account',
  component: lazyRouteComponent(() => import('./pages/Account.tsx'), 'Account'),
})

const tree = root.addChildren([
  signIn,
  shell.addChildren([
    ...[home, agents, newAgent, agentRoute, chat.addChildren([newChat, session]), openRun, sessions],
    ...[runs, approvals, operations, usage, audit, portals, models, tokens, members, account],
  ]),
])

export function makeRouter(queries: QueryClient) {
  return createRouter({
    routeTree: tree,
    basepath: '/studio',
    context: { queries },
    defaultPreload: 'intent',
    scrollRestoration: false,
    defaultPendingComponent: () => (
      <div className="page">
        <div className="page-in">
          <Skeleton />
        </div>
      </div>
    ),
    defaultErrorComponent: ({ error, reset }) => (
      <div className="page">
        <div className="page-in">
          <Failure error={error} retry={reset} />
        </div>
      </div>
    ),
  })
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof makeRouter>
  }
}
