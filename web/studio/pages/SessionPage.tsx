// A session: its chat, and beside it what happened when.
import '../../shared/markdown-install.ts'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { type ReactNode, useEffect, useMemo, useRef, useState } from 'react'
import { Chat, useChat } from '../../shared/chat/Chat.tsx'
import { Place } from '../../shared/chat/context.ts'
import { ChatController } from '../../shared/chat/controller.ts'
import { doorWord } from '../../shared/chat/words.ts'
import type { Chat as State } from '../../shared/reducer.ts'
import { whenIdle } from '../../shared/ui/idle.ts'
import { StopButton } from '../../shared/ui/StopButton.tsx'
import { api, must } from '../api.ts'
import { type SendOptions, studioDoor, useNames, usePlaceFor } from '../doors.ts'
import { useMay } from '../me.ts'
import { Ago, Button, Confirm, Failure, Id, LastEnd, Skeleton, StateChip } from '../ui.tsx'
import { RunInspector } from './RunInspector.tsx'
import { Timeline } from './Timeline.tsx'

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

function Whole({ children }: { children: ReactNode }) {
  return (
    <main className="page" id="main" tabIndex={-1}>
      <div className="page-in">{children}</div>
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

// A new chat becomes a session with its first message. The page stays the same
// then, with its focus, its draft and what is on its way: only the address changes.
function useController(agentId: string, sessionId: string | undefined, options: () => SendOptions): ChatController {
  const navigate = useNavigate()
  const held = useRef<{ agentId: string; controller: ChatController }>(undefined)
  // biome-ignore lint/correctness/useExhaustiveDependencies: another one for another session alone
  const controller = useMemo(() => {
    const h = held.current
    if (h && h.agentId === agentId && sessionId && h.controller.snapshot().sessionId === sessionId) return h.controller
    const made = new ChatController({
      door: studioDoor(agentId, options),
      sessionId,
      onCreated: (id) => {
        if (held.current?.controller !== made) return
        void navigate({ to: '/agents/$agentId/sessions/$sessionId', params: { agentId, sessionId: id }, replace: true })
      },
    })
    held.current = { agentId, controller: made }
    return made
  }, [agentId, sessionId])
  useEffect(() => {
    void controller.open()
    return () => controller.close()
  }, [controller])
  return controller
}

/** The chat with an agent, new or going on. */
export function ChatPage() {
  const { agentId = '', sessionId } = useParams({ strict: false })
  const { view: side } = useSearch({ strict: false })
  const navigate = useNavigate()
  const queries = useQueryClient()
  const may = useMay()
  const [run, setRun] = useState<string>()
  const [deleting, setDeleting] = useState(false)
  const agent = useQuery({
    queryKey: ['agent', agentId],
    queryFn: () => must(api.GET('/agents/{agentId}', { params: { path: { agentId } } })),
    enabled: may('agent.view'),
  })
  const query = useQuery({
    queryKey: ['session', sessionId],
    queryFn: () =>
      must(
        api.GET('/agents/{agentId}/sessions/{sessionId}', {
          params: { path: { agentId, sessionId: sessionId ?? '' } },
        }),
      ),
    enabled: sessionId !== undefined,
  })
  // An agent that was never published is talked to as it is in the editor.
  const draft = useRef(false)
  draft.current = agent.data?.publishedVersion === null
  const controller = useController(agentId, sessionId, () => (draft.current ? { draft: true } : {}))

  const view = useChat(controller)
  const place = usePlaceFor(useNames(principals(view.chat)))
  const ended = view.chat.turns.filter((t) => t.phase === 'ended').length
  // biome-ignore lint/correctness/useExhaustiveDependencies: an end changes what the lists say
  useEffect(() => {
    if (sessionId) void queries.invalidateQueries({ queryKey: ['session', sessionId] })
  }, [ended, queries, sessionId])

  const session = query.data
  const name = agent.data?.name || agentId
  const phase = view.stopping
    ? 'stopping'
    : view.turn?.phase === 'waiting'
      ? 'requires_action'
      : view.active
        ? 'running'
        : 'idle'
  const mine = session ? session.mayAct : may('agent.run') && !query.isError
  const showTimeline = sessionId !== undefined && side === 'timeline'
  const toggle = () => {
    if (!sessionId) return
    const search = { view: showTimeline ? undefined : 'timeline' }
    void navigate({ to: '/agents/$agentId/sessions/$sessionId', params: { agentId, sessionId }, search, replace: true })
  }

  if (!sessionId && agent.isError) {
    return (
      <Whole>
        <Failure error={agent.error} retry={() => void agent.refetch()} />
      </Whole>
    )
  }
  return (
    <main className="page-full !p-0" id="main" tabIndex={-1}>
      <header className="page-head bar">
        <div className="min-w-0">
          <h1 className="truncate !text-[16px] !leading-6">
            {sessionId ? session?.title || session?.preview || 'Session' : name}
          </h1>
          <p className="flex min-h-5 flex-wrap items-center gap-x-2 text-[12.5px] text-ink-3">
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
            {sessionId ? (
              <Id id={sessionId} />
            ) : (
              <span>· {draft.current ? 'draft' : `v${agent.data?.publishedVersion ?? ''}`}</span>
            )}
          </p>
        </div>
        {sessionId && (
          <div className="actions">
            {phase === 'idle' && session ? (
              <LastEnd status={session.lastStatus} reason={session.lastStopReason} />
            ) : (
              <StateChip state={phase} />
            )}
            {session?.mayAct === false && view.active && may('agent.session_manage_others') && (
              <StopButton stopping={!!view.stopping} onStop={() => void controller.stop()} />
            )}
            <Button onClick={toggle} aria-pressed={showTimeline}>
              {showTimeline ? 'Hide timeline' : 'Timeline'}
            </Button>
            {mine && !view.active && (
              <Button quiet onClick={() => setDeleting(true)}>
                Delete
              </Button>
            )}
          </div>
        )}
      </header>
      {query.isError && !session && (
        <div className="px-8 pt-4">
          <Failure error={query.error} />
        </div>
      )}
      <div className={showTimeline ? 'split !m-0 border-t-0' : 'chat-alone'}>
        {showTimeline && (
          <div className="!p-0">
            <Timeline events={controller.events()} chat={view.chat} onRun={setRun} />
          </div>
        )}
        <div className="h-full min-h-0" key="chat">
          <Place value={place}>
            <Chat
              controller={controller}
              placeholder={`Message ${name}`}
              mayAct={mine}
              label={`Chat with ${name}`}
              focused={!sessionId}
              empty={sessionId ? undefined : <Welcome name={name} />}
            />
          </Place>
        </div>
      </div>
      {run && <RunInspector runId={run} onClose={() => setRun(undefined)} />}
      {deleting && sessionId && (
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
