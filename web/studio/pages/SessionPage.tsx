// A session: its chat, and beside it what happened when.
import '../../shared/markdown-install.ts'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { type ReactNode, useEffect, useMemo, useState } from 'react'
import { Chat, useChat } from '../../shared/chat/Chat.tsx'
import { Place } from '../../shared/chat/context.ts'
import { ChatController } from '../../shared/chat/controller.ts'
import { doorWord } from '../../shared/chat/words.ts'
import type { Chat as State } from '../../shared/reducer.ts'
import { whenIdle } from '../../shared/ui/idle.ts'
import { StopButton } from '../../shared/ui/StopButton.tsx'
import { api, must, type Schemas } from '../api.ts'
import { type SendOptions, studioDoor, useNames, usePlaceFor } from '../doors.ts'
import { useMay } from '../me.ts'
import { Ago, Button, Chip, Confirm, Empty, Failure, Id, LastEnd, Skeleton, StateChip } from '../ui.tsx'
import { RunInspector } from './RunInspector.tsx'
import { Timeline } from './Timeline.tsx'

type Session = Schemas['Session']

// Colours for code come after the page.
whenIdle(() => void import('../../shared/highlight.ts'))

/** All principals that a chat names. */
export function principals(chat: State): string[] {
  return chat.turns.flatMap((t) => [
    t.started?.by ?? '',
    t.stopping?.by ?? '',
    t.end?.stop?.by ?? '',
    ...t.items.flatMap((i) => (i.kind === 'action' ? [i.by ?? ''] : [])),
  ])
}

export function NewChat() {
  const { agentId } = useParams({ from: '/shell/agents/$agentId/chat' })
  const navigate = useNavigate()
  const query = useQuery({
    queryKey: ['agent', agentId],
    queryFn: () => must(api.GET('/agents/{agentId}', { params: { path: { agentId } } })),
  })
  const may = useMay()
  if (query.isError)
    return (
      <Whole>
        <Failure error={query.error} retry={() => void query.refetch()} />
      </Whole>
    )
  if (!query.data)
    return (
      <Whole>
        <Skeleton />
      </Whole>
    )
  const draft = query.data.publishedVersion === null
  if (!may('agent.run'))
    return (
      <Whole>
        <Empty title="You may read sessions here, and not begin one" />
      </Whole>
    )
  return (
    <Begin
      key={agentId}
      agent={query.data}
      options={draft ? { draft: true } : {}}
      onCreated={(sessionId) =>
        void navigate({ to: '/agents/$agentId/sessions/$sessionId', params: { agentId, sessionId }, replace: true })
      }
    />
  )
}

function Whole({ children }: { children: ReactNode }) {
  return (
    <main className="page" id="main" tabIndex={-1}>
      <div className="page-in">{children}</div>
    </main>
  )
}

// A controller that has created its session is handed to the page of that session,
// so that what is on its way, and a Stop of it, stay.
let handed: { sessionId: string; controller: ChatController } | undefined

function Begin({
  agent,
  options,
  onCreated,
}: {
  agent: Schemas['Agent']
  options: SendOptions
  onCreated: (id: string) => void
}) {
  // biome-ignore lint/correctness/useExhaustiveDependencies: one for this page
  const controller = useMemo(() => {
    const c: ChatController = new ChatController({
      door: studioDoor(agent.id, options),
      onCreated: (id) => {
        handed = { sessionId: id, controller: c }
        onCreated(id)
      },
    })
    return c
  }, [])
  const place = usePlaceFor(useNames([]))
  return (
    <main className="page-full !p-0" id="main" tabIndex={-1}>
      <header className="page-head bar">
        <h1 className="!text-[16px]">{agent.name || agent.id}</h1>
        <Chip>{agent.publishedVersion === null ? 'Draft' : `v${agent.publishedVersion}`}</Chip>
      </header>
      <div className="min-h-0 flex-1">
        <Place value={place}>
          <Chat
            controller={controller}
            placeholder={`Message ${agent.name || agent.id}`}
            label={`Chat with ${agent.name || agent.id}`}
            focused
            empty={<Welcome name={agent.name || agent.id} />}
          />
        </Place>
      </div>
    </main>
  )
}

export function Welcome({ name }: { name: string }) {
  return (
    <div className="m-auto max-w-[420px] py-10 text-center text-ink-2">
      <p className="mb-1 text-[17px] font-semibold text-ink">{name}</p>
      <p className="text-[14px]">
        Send a message to begin. You can stop the answer at any time: with the button, with Esc, or from another window.
      </p>
    </div>
  )
}

/** The session of a turn: links that know the turn alone. */
export function FindSession() {
  const { runId } = useParams({ from: '/shell/open/$runId' })
  const navigate = useNavigate()
  const query = useQuery({
    queryKey: ['run', runId],
    queryFn: () => must(api.GET('/runs/{runId}', { params: { path: { runId } } })),
  })
  useEffect(() => {
    const run = query.data?.run
    if (!run) return
    const params = { agentId: run.agentId, sessionId: run.sessionId }
    void navigate({ to: '/agents/$agentId/sessions/$sessionId', params, replace: true })
  }, [query.data, navigate])
  return <Whole>{query.isError ? <Failure error={query.error} /> : <Skeleton />}</Whole>
}

export function SessionPage() {
  const { agentId, sessionId } = useParams({ from: '/shell/agents/$agentId/sessions/$sessionId' })
  const query = useQuery({
    queryKey: ['session', sessionId],
    queryFn: () =>
      must(api.GET('/agents/{agentId}/sessions/{sessionId}', { params: { path: { agentId, sessionId } } })),
  })
  return <Open key={sessionId} agentId={agentId} sessionId={sessionId} session={query.data} error={query.error} />
}

interface OpenProps {
  agentId: string
  sessionId: string
  session?: Session
  error: unknown
}

function Open({ agentId, sessionId, session, error }: OpenProps) {
  const { view: side } = useSearch({ from: '/shell/agents/$agentId/sessions/$sessionId' })
  const navigate = useNavigate()
  const queries = useQueryClient()
  const may = useMay()
  const [run, setRun] = useState<string>()
  const [deleting, setDeleting] = useState(false)

  const given = useMemo(() => {
    const mine = handed?.sessionId === sessionId ? handed.controller : undefined
    return mine
  }, [sessionId])
  const controller = useMemo(
    () => given ?? new ChatController({ door: studioDoor(agentId), sessionId }),
    [given, agentId, sessionId],
  )
  useEffect(() => {
    if (controller === given) {
      handed = undefined
      controller.resume()
    } else {
      void controller.open()
    }
    return () => controller.close()
  }, [controller, given])

  const view = useChat(controller)
  const place = usePlaceFor(useNames(principals(view.chat)))
  const ended = view.chat.turns.filter((t) => t.phase === 'ended').length
  // biome-ignore lint/correctness/useExhaustiveDependencies: an end changes what the lists say
  useEffect(() => {
    void queries.invalidateQueries({ queryKey: ['session', sessionId] })
  }, [ended, queries, sessionId])

  const title = session?.title || session?.preview || 'Session'
  const mayAct = session?.mayAct ?? given !== undefined
  const phase = view.stopping
    ? 'stopping'
    : view.turn?.phase === 'waiting'
      ? 'requires_action'
      : view.active
        ? 'running'
        : 'idle'
  const showTimeline = side === 'timeline'
  const toggle = () =>
    void navigate({
      to: '/agents/$agentId/sessions/$sessionId',
      params: { agentId, sessionId },
      search: { view: showTimeline ? undefined : 'timeline' },
      replace: true,
    })

  return (
    <main className="page-full !p-0" id="main" tabIndex={-1}>
      <header className="page-head bar">
        <div className="min-w-0">
          <h1 className="truncate !text-[16px] !leading-6">{title}</h1>
          <p className="flex flex-wrap items-center gap-x-2 text-[12.5px] text-ink-3">
            <Link className="hover:underline" to="/agents/$agentId" params={{ agentId }}>
              {agentId}
            </Link>
            {session && (
              <>
                <span>·</span>
                <span>
                  {session.owner.name}, {doorWord(session.door)}
                </span>
                <span>·</span>
                <Ago at={session.createdAt} />
              </>
            )}
            <Id id={sessionId} />
          </p>
        </div>
        <div className="actions">
          {phase === 'idle' && session ? (
            <LastEnd status={session.lastStatus} reason={session.lastStopReason} />
          ) : (
            <StateChip state={phase} />
          )}
          {!mayAct && view.active && may('agent.session_manage_others') && (
            <StopButton stopping={!!view.stopping} onStop={() => void controller.stop()} />
          )}
          <Button onClick={toggle} aria-pressed={showTimeline}>
            {showTimeline ? 'Hide timeline' : 'Timeline'}
          </Button>
          {mayAct && !view.active && (
            <Button quiet onClick={() => setDeleting(true)}>
              Delete
            </Button>
          )}
        </div>
      </header>
      {error !== null && error !== undefined && !session && (
        <div className="px-8 pt-4">
          <Failure error={error} />
        </div>
      )}
      <div className={showTimeline ? 'split !m-0 border-t-0' : 'min-h-0 flex-1'}>
        {showTimeline && (
          <div className="!p-0">
            <Timeline events={controller.events()} chat={view.chat} onRun={setRun} />
          </div>
        )}
        <div className="h-full min-h-0">
          <Place value={place}>
            <Chat
              controller={controller}
              placeholder={`Message ${agentId}`}
              mayAct={mayAct}
              label={`Chat with ${agentId}`}
            />
          </Place>
        </div>
      </div>
      {run && <RunInspector runId={run} onClose={() => setRun(undefined)} />}
      {deleting && (
        <Confirm
          title="Delete this session?"
          verb="Delete session"
          onClose={() => setDeleting(false)}
          run={async () => {
            await must(
              api.DELETE('/agents/{agentId}/sessions/{sessionId}', { params: { path: { agentId, sessionId } } }),
            )
            await navigate({ to: '/sessions' })
          }}
        >
          <p>Its messages and events are deleted with it. Usage figures stay.</p>
        </Confirm>
      )}
    </main>
  )
}
