// The chat of Studio, portal and embed.
import {
  type KeyboardEvent,
  type ReactNode,
  useCallback,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
  useSyncExternalStore,
} from 'react'
import type { Turn } from '../reducer.ts'
import type { StreamClient } from '../stream/client.ts'
import { CrossIcon, DownIcon } from '../ui/icons.tsx'
import { clock, useNow } from '../ui/time.ts'
import { Composer } from './Composer.tsx'
import { usePlace } from './context.ts'
import { type ChatController, type ChatView, stubborn } from './controller.ts'
import { Lost } from './Lost.tsx'
import { TurnView } from './TurnView.tsx'
import { doorWord } from './words.ts'

interface Props {
  controller: ChatController
  stream?: StreamClient
  placeholder?: string
  /** What is shown before the first message. */
  empty?: ReactNode
  /** Whether messages can be sent from here. */
  mayAct?: boolean
  /** A name for the region, for who does not see it. */
  label?: string
  maxLength?: number
  /** The composer has the focus from the start. */
  focused?: boolean
}

/** How many turns are drawn at first, and with each step back. */
const drawn = 40

export function useChat(controller: ChatController): ChatView {
  return useSyncExternalStore(controller.subscribe, controller.snapshot, controller.snapshot)
}

export function Chat({
  controller,
  stream,
  placeholder = 'Message',
  empty,
  mayAct = true,
  label = 'Chat',
  maxLength,
  focused = false,
}: Props) {
  const view = useChat(controller)
  const input = useRef<HTMLTextAreaElement>(null)
  useEffect(() => {
    if (focused) input.current?.focus()
  }, [focused])

  const keys = (e: KeyboardEvent) => {
    if (e.key !== 'Escape' || e.defaultPrevented || e.nativeEvent.isComposing || e.nativeEvent.keyCode === 229) return
    if (!view.active || view.stopping || !mayAct || ownedElsewhere(e.target)) return
    e.preventDefault()
    void controller.stop()
  }

  return (
    <section className="bl-chat" aria-label={label} onKeyDown={keys}>
      {stream && <Lost stream={stream} running={view.active} />}
      <Transcript controller={controller} view={view} empty={empty} mayAct={mayAct} />
      <div className="bl-foot">
        <StatusLine view={view} mayAct={mayAct} />
        <Notices controller={controller} view={view} />
        {mayAct ? (
          <Composer controller={controller} view={view} placeholder={placeholder} input={input} maxLength={maxLength} />
        ) : (
          <p className="bl-readonly">This session is somebody else’s: you can read it, not send to it.</p>
        )}
      </div>
      <Announcer view={view} />
    </section>
  )
}

// Something that is open over the chat closes on Esc first.
function ownedElsewhere(target: EventTarget | null): boolean {
  if (
    target instanceof Element &&
    target.closest('dialog, [role="dialog"], [role="menu"], [role="listbox"], [data-owns-esc]')
  )
    return true
  return document.querySelector('dialog[open], [role="menu"], [role="listbox"]') !== null
}

function Transcript({
  controller,
  view,
  empty,
  mayAct,
}: { view: ChatView } & Pick<Props, 'controller' | 'empty' | 'mayAct'>) {
  const box = useRef<HTMLDivElement>(null)
  const stuck = useRef(true)
  const [away, setAway] = useState(false)
  const [shown, setShown] = useState(drawn)
  const { turns } = view.chat
  const hidden = Math.max(0, turns.length - shown)
  const visible = hidden > 0 ? turns.slice(hidden) : turns

  const toBottom = useCallback(() => {
    const el = box.current
    if (!el) return
    stuck.current = true
    setAway(false)
    el.scrollTop = el.scrollHeight
  }, [])

  // biome-ignore lint/correctness/useExhaustiveDependencies: what is drawn has changed
  useLayoutEffect(() => {
    if (stuck.current && box.current) box.current.scrollTop = box.current.scrollHeight
  }, [view.chat, view.outbox, view.stopping])

  useEffect(() => {
    const el = box.current
    if (!el || typeof ResizeObserver === 'undefined') return
    const seen = new ResizeObserver(() => {
      if (stuck.current) el.scrollTop = el.scrollHeight
    })
    seen.observe(el)
    return () => seen.disconnect()
  }, [])

  // Older turns are put in above; what is looked at stays where it is.
  const older = async () => {
    const el = box.current
    const from = el ? el.scrollHeight - el.scrollTop : 0
    stuck.current = false
    if (hidden > 0) setShown((n) => n + drawn)
    else {
      await controller.loadOlder()
      setShown((n) => n + drawn)
    }
    requestAnimationFrame(() => {
      if (el) el.scrollTop = el.scrollHeight - from
    })
  }

  const retry = useCallback(
    (t: Turn) => {
      const text = t.items.find((i) => i.kind === 'user')
      if (text?.kind === 'user') void controller.send(text.text)
    },
    [controller],
  )

  const decide = useCallback(
    (id: string, d: Parameters<ChatController['decide']>[1]) => controller.decide(id, d),
    [controller],
  )

  const idle = !view.active && mayAct
  return (
    <div className="bl-scroll-frame">
      <div
        className="bl-scroll"
        ref={box}
        role="log"
        aria-live="off"
        aria-label="Transcript"
        aria-busy={view.status === 'loading' || undefined}
        tabIndex={0}
        onScroll={(e) => {
          const el = e.currentTarget
          const down = el.scrollHeight - el.scrollTop - el.clientHeight < 40
          stuck.current = down
          if (away === down) setAway(!down)
        }}
      >
        <div className="bl-turns">
          {view.status === 'loading' && <Loading />}
          {view.status === 'failed' && (
            <div className="bl-end" data-failed role="alert">
              <span>{view.error}</span>
              <button type="button" className="bl-button" data-quiet onClick={() => void controller.open()}>
                Try again
              </button>
            </div>
          )}
          {view.status === 'ready' && turns.length === 0 && view.outbox === undefined && empty}
          {(hidden > 0 || view.hasOlder) && (
            <button
              type="button"
              className="bl-button bl-older"
              data-quiet
              disabled={view.loadingOlder}
              onClick={older}
            >
              {view.loadingOlder ? 'Loading…' : 'Show earlier messages'}
            </button>
          )}
          {visible.map((t, i) => {
            const last = i === visible.length - 1 && view.outbox === undefined
            const next = last && idle && t.phase === 'ended'
            return (
              <TurnView
                key={t.id}
                turn={t}
                last={last}
                stopping={last && !!view.stopping}
                focusCard={last ? view.focusCard : 0}
                onDecide={decide}
                onContinue={next && t.end?.stopReason ? () => void controller.send('Continue.') : undefined}
                onRetry={next && t.end?.status !== 'completed' ? () => retry(t) : undefined}
              />
            )
          })}
          {view.outbox !== undefined && (
            <section className="bl-turn" data-last>
              <div className="bl-user" data-sending>
                {view.outbox}
              </div>
            </section>
          )}
        </div>
      </div>
      {away && (
        <button type="button" className="bl-latest" onClick={toBottom}>
          <DownIcon />
          Jump to latest
        </button>
      )}
    </div>
  )
}

function Loading() {
  return (
    <div className="bl-skeleton" role="status">
      <span className="bl-hidden">Loading the transcript</span>
      <i />
      <i />
      <i />
    </div>
  )
}

// One line over the composer: what runs, for how long, and who began it.
function StatusLine({ view, mayAct }: { view: ChatView; mayAct: boolean }) {
  const { who, me, door } = usePlace()
  const now = useNow(500, view.active)
  if (!view.active) return null
  const { turn, stopping } = view
  const since = turn ? Date.parse(turn.at) : now
  const by = turn?.started?.by
  const foreign = by !== undefined && (turn?.started?.door !== door || (me !== undefined && by !== me))
  let text: string
  let detail: string | undefined
  if (stopping) {
    text = 'Stopping…'
    if (now - stopping.since > 5000) {
      const tools = stubborn(view)
      text =
        tools.length > 0
          ? `Still stopping: ${tools.join(', ')} can’t be interrupted`
          : 'Still stopping: waiting for the server'
    } else if (!stopping.mine && turn?.stopping?.by) {
      detail = `asked for by ${who(turn.stopping.by)}`
    }
  } else if (turn?.phase === 'waiting') {
    text = 'Waiting for a person'
  } else {
    text = turn ? 'Answering' : 'Sending'
  }
  if (foreign && !stopping) detail = `Started by ${who(by)} ${doorWord(turn?.started?.door ?? '')}`
  return (
    <p className="bl-status" data-tone={stopping ? 'stopping' : turn?.phase === 'waiting' ? 'waiting' : 'live'}>
      <i aria-hidden="true" />
      <span>{text}</span>
      {detail && <span className="bl-status-detail">{detail}</span>}
      <span className="bl-num">{clock(now - since)}</span>
      {!stopping && mayAct && <span className="bl-status-hint">Esc stops</span>}
    </p>
  )
}

function Notices({ controller, view }: { controller: ChatController; view: ChatView }) {
  const n = view.notice
  if (!n) return null
  const failure = n.kind === 'stop_failed' || n.kind === 'send_failed' || n.kind === 'decide_failed'
  return (
    <div className="bl-notice" data-failed={failure || undefined} role={failure ? 'alert' : 'status'}>
      <span>{n.text}</span>
      <button type="button" className="bl-icon-button" aria-label="Dismiss" onClick={() => controller.dismiss()}>
        <CrossIcon />
      </button>
    </div>
  )
}

// What is heard: starts, waits, stops and ends, never the text itself.
function Announcer({ view }: { view: ChatView }) {
  const ended = view.chat.turns.at(-1)?.end
  let said = ''
  if (view.stopping) said = 'Stopping'
  else if (view.turn?.phase === 'waiting') said = 'The agent waits for you'
  else if (view.active) said = 'The agent is answering'
  else if (ended?.status === 'failed') said = ''
  else if (ended?.stopReason === 'cancelled') said = 'Stopped before it finished'
  else if (ended) said = 'The answer is finished'
  const failure = !view.active && ended?.status === 'failed' ? (ended.error?.message ?? 'The answer failed') : ''
  const [loud, setLoud] = useState(false)
  // What was there when the page opened is not news.
  useEffect(() => {
    if (view.active) setLoud(true)
  }, [view.active])
  return (
    <>
      <p className="bl-hidden" role="status">
        {loud ? said : ''}
      </p>
      {loud && failure && (
        <p className="bl-hidden" role="alert">
          {failure}
        </p>
      )}
    </>
  )
}
