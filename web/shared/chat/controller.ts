// A chat with one session: what is shown, sending, stopping and deciding. The
// server owns the turn; here is only what was asked of it and not yet answered.
import { type Event, isDelta } from '../events.ts'
import { explain, Problem } from '../problem.ts'
import { type Chat, emptyChat, liveTurn, openActions, reduce, type Turn } from '../reducer.ts'
import type { Follower } from '../stream/client.ts'

export interface Page {
  events: Event[]
  nextBefore: number | null
  followAfter: number
  /** There are events, and all of them come by the follow. */
  toCome?: boolean
}

export interface Decision {
  decision: 'approve' | 'reject' | 'answer'
  answer?: string
  arguments?: Record<string, unknown>
  comment?: string
}

/** The API that a chat talks through: Studio's or a portal's. */
export interface Door {
  page(sessionId: string, before?: number): Promise<Page>
  /** Makes a session before its first message. Without it, begin does both. */
  create?(): Promise<string>
  begin?(text: string): Promise<{ sessionId: string; runId: string }>
  send(sessionId: string, text: string): Promise<{ runId: string }>
  /** Bound to the turn where one is given: a later one is not touched. */
  stop(sessionId: string, runId?: string): Promise<{ cancelled: boolean; runIds: string[] }>
  decide(actionId: string, decision: Decision): Promise<void>
  follow(sessionId: string, after: number, follower: Follower): () => void
}

export interface Notice {
  kind: 'busy' | 'action_pending' | 'stop_failed' | 'send_failed' | 'decide_failed'
  text: string
}

export interface ChatView {
  sessionId?: string
  status: 'loading' | 'ready' | 'failed'
  error?: string
  chat: Chat
  /** The turn that has not ended. */
  turn?: Turn
  draft: string
  /** What was sent and is not in the journal yet. */
  outbox?: string
  /** Something can be stopped, or is being sent. */
  active: boolean
  /** From the click, or from when somebody else's stop was seen, until the turn's end event. */
  stopping?: { since: number; mine: boolean }
  notice?: Notice
  hasOlder: boolean
  loadingOlder: boolean
  /** Grows when the open card should take the focus. */
  focusCard: number
}

interface Options {
  door: Door
  sessionId?: string
  onCreated?: (sessionId: string) => void
  frame?: (flush: () => void) => void
}

// Deltas are drawn once for a frame. A page that nobody sees has no frames.
function nextFrame(flush: () => void) {
  if (typeof document !== 'undefined' && !document.hidden) requestAnimationFrame(flush)
  else setTimeout(flush, 200)
}

export class ChatController {
  private view: ChatView
  private readonly listeners = new Set<() => void>()
  private readonly door: Door
  private log: Event[] = []
  private queue: Event[] = []
  private flushing = false
  // What the last frame took to draw, in milliseconds.
  private cost = 0
  private release: (() => void) | undefined
  private nextBefore: number | null = null
  // A message on its way: run is known when the server has answered.
  private sending: { stopWanted: boolean } | undefined
  private begun: string | undefined
  private asked: { since: number; run?: string } | undefined
  private closed = false

  constructor(private readonly options: Options) {
    this.door = options.door
    this.view = {
      sessionId: options.sessionId,
      status: options.sessionId ? 'loading' : 'ready',
      chat: emptyChat,
      draft: '',
      active: false,
      hasOlder: false,
      loadingOlder: false,
      focusCard: 0,
    }
  }

  subscribe = (changed: () => void): (() => void) => {
    this.listeners.add(changed)
    return () => this.listeners.delete(changed)
  }

  snapshot = (): ChatView => this.view

  /** All events that were read, without deltas of turns that have ended. */
  events(): readonly Event[] {
    return this.log
  }

  /** Reads the session and follows it until close. */
  async open(): Promise<void> {
    this.closed = false
    const id = this.view.sessionId
    if (!id) return
    this.set({ status: 'loading', error: undefined })
    try {
      const page = await this.door.page(id)
      if (this.closed) return
      this.log = page.events
      this.nextBefore = page.nextBefore
      const chat = reduce(emptyChat, page.events)
      this.set({ status: page.toCome ? 'loading' : 'ready', chat, hasOlder: page.nextBefore !== null })
      this.follow(id, page.followAfter)
    } catch (e) {
      this.set({ status: 'failed', error: explain(e) })
    }
  }

  /** Goes on after close, with what is known. */
  resume() {
    this.closed = false
    const id = this.view.sessionId
    if (id && !this.release) this.follow(id, Math.max(this.view.chat.seq, this.log.at(-1)?.seq ?? 0))
  }

  close() {
    this.closed = true
    this.release?.()
    this.release = undefined
  }

  async loadOlder(): Promise<void> {
    const id = this.view.sessionId
    if (!id || this.nextBefore === null || this.view.loadingOlder) return
    this.set({ loadingOlder: true })
    try {
      const page = await this.door.page(id, this.nextBefore)
      this.flush()
      this.nextBefore = page.nextBefore
      this.log = [...page.events, ...this.log]
      this.set({ chat: reduce(emptyChat, this.log), hasOlder: page.nextBefore !== null, loadingOlder: false })
    } catch (e) {
      this.set({ loadingOlder: false, notice: { kind: 'send_failed', text: explain(e) } })
    }
  }

  setDraft(draft: string) {
    this.set({ draft, notice: this.view.notice?.kind === 'busy' ? undefined : this.view.notice })
  }

  dismiss() {
    this.set({ notice: undefined })
  }

  /** Says whether a message can be sent now. A turn that waits for a person gives way to one. */
  maySend(): boolean {
    const { turn, outbox, status } = this.view
    return status === 'ready' && outbox === undefined && !this.asked && (!turn || turn.phase === 'waiting')
  }

  /** Sends the text, or the draft. While a turn runs nothing is sent and the draft is kept. */
  async send(text = this.view.draft): Promise<void> {
    const content = text.trim()
    if (!content) return
    if (!this.maySend()) {
      this.set({
        notice: { kind: 'busy', text: 'The agent is still answering. Stop it, or send this when it has finished.' },
      })
      return
    }
    const mine = { stopWanted: false }
    this.sending = mine
    this.begun = undefined
    this.set({ outbox: content, draft: text === this.view.draft ? '' : this.view.draft, notice: undefined })
    try {
      const id = this.view.sessionId ?? (await this.create())
      // Stopped before it went out: it stays a draft.
      if (mine.stopWanted && id && !this.view.sessionId) {
        this.unsend(mine)
        return
      }
      this.sent(mine, id ? (await this.door.send(id, content)).runId : await this.begin(content))
    } catch (e) {
      this.unsend(mine, e)
    }
  }

  /** Stops what runs here. The turn's end event says when it has. */
  async stop(): Promise<void> {
    if (this.asked || !this.view.active) return
    // A message on its way has no run yet: then it is stopped by session, and by run when that is known.
    const run = this.sending ? undefined : (this.begun ?? this.view.turn?.id)
    this.asked = { since: Date.now(), run }
    if (this.sending) this.sending.stopWanted = true
    this.set({ notice: undefined })
    if (!this.view.sessionId) return
    await this.askStop(run)
  }

  async decide(actionId: string, decision: Decision): Promise<void> {
    try {
      await this.door.decide(actionId, decision)
    } catch (e) {
      this.set({ notice: { kind: 'decide_failed', text: explain(e) } })
      throw e
    }
  }

  // Makes the session, where the door makes them apart from the first message.
  private async create(): Promise<string | undefined> {
    const id = await this.door.create?.()
    if (id && !this.sending?.stopWanted) this.adopt(id)
    return id
  }

  private async begin(text: string): Promise<string> {
    if (!this.door.begin) throw new Error('this chat has no session to send to')
    const { sessionId, runId } = await this.door.begin(text)
    this.adopt(sessionId)
    return runId
  }

  private adopt(id: string) {
    this.set({ sessionId: id })
    this.follow(id, 0)
    this.options.onCreated?.(id)
  }

  private sent(mine: { stopWanted: boolean }, runId: string) {
    if (this.sending === mine) this.sending = undefined
    if (!this.view.chat.turns.some((t) => t.id === runId)) this.begun = runId
    this.set(this.begun ? {} : { outbox: undefined })
    // A stop that was asked for before the run was known may have found nothing.
    if (mine.stopWanted) {
      this.asked = { since: this.asked?.since ?? Date.now(), run: runId }
      this.set({})
      void this.askStop(runId)
    }
  }

  // The message did not go out: it is a draft again.
  private unsend(mine: { stopWanted: boolean }, e?: unknown) {
    if (this.sending === mine) this.sending = undefined
    this.asked = undefined
    const text = this.view.outbox ?? ''
    const draft = this.view.draft ? `${text}\n${this.view.draft}` : text
    let notice: Notice | undefined
    if (e instanceof Problem && e.code === 'agent_run_conflict') {
      notice = { kind: 'busy', text: 'A turn is already running here. Your message was kept.' }
    } else if (e !== undefined) {
      notice = { kind: 'send_failed', text: explain(e) }
    }
    this.set({ outbox: undefined, draft, notice })
  }

  private async askStop(run: string | undefined) {
    const id = this.view.sessionId
    if (!id) return
    try {
      const { cancelled, runIds } = await this.door.stop(id, run)
      if (cancelled && this.asked && !this.asked.run) this.asked.run = runIds[0]
      // Nothing to stop: back to what the server says. A message on its way is stopped when its run is known.
      if (!cancelled && !this.sending && this.asked?.run === run) this.asked = undefined
      this.set({})
    } catch (e) {
      this.asked = undefined
      if (this.sending) this.sending.stopWanted = false
      if (e instanceof Problem && e.code === 'action_pending') {
        const text = 'Answer the request above, or send a new message'
        this.set({ notice: { kind: 'action_pending', text }, focusCard: this.view.focusCard + 1 })
        return
      }
      this.set({ notice: { kind: 'stop_failed', text: `Not stopped: ${explain(e)}` } })
    }
  }

  private follow(id: string, after: number) {
    this.release?.()
    this.release = this.door.follow(id, after, {
      events: (events) => this.enqueue(events.filter((e) => e.seq > after)),
      closed: (code) =>
        this.set({
          status: 'failed',
          error: code === 'gone' ? 'This session was deleted.' : 'This session can’t be read any more.',
        }),
    })
  }

  private enqueue(events: Event[]) {
    if (events.length === 0) return
    this.queue.push(...events)
    if (this.flushing) return
    this.flushing = true
    const frame = this.options.frame ?? nextFrame
    // What is dear to draw is drawn less often, so that the page stays free for Stop.
    if (this.cost > 8) setTimeout(() => frame(() => this.flush()), this.cost * 3)
    else frame(() => this.flush())
  }

  private flush() {
    this.flushing = false
    const seen = Math.max(this.view.chat.seq, this.log.at(-1)?.seq ?? 0)
    const events = this.queue.filter((e) => e.seq > seen)
    this.queue = []
    if (events.length === 0) return
    this.log = [...this.log, ...events]
    for (const e of events) {
      if (e.type === 'turn.ended') this.log = this.log.filter((x) => x.run_id !== e.run_id || !isDelta(x))
    }
    const began = performance.now()
    this.set({ status: 'ready', chat: reduce(this.view.chat, events) })
    this.cost = performance.now() - began
  }

  private set(change: Partial<ChatView>) {
    const view = { ...this.view, ...change }
    view.turn = liveTurn(view.chat)
    const ended = (run: string) => view.chat.turns.some((t) => t.id === run && t.phase === 'ended')
    if (this.begun && view.chat.turns.some((t) => t.id === this.begun)) {
      view.outbox = undefined
      this.begun = undefined
    }
    if (this.asked && (this.asked.run ? ended(this.asked.run) : !view.turn && view.outbox === undefined)) {
      this.asked = undefined
    }
    view.active = view.turn !== undefined || view.outbox !== undefined || this.begun !== undefined
    view.stopping = stoppingOf(view, this.asked)
    this.view = view
    for (const changed of this.listeners) changed()
  }
}

function stoppingOf(view: ChatView, asked: { since: number } | undefined): ChatView['stopping'] {
  if (asked) return { since: asked.since, mine: true }
  if (view.turn?.phase !== 'stopping') return undefined
  const at = Date.parse(view.turn.stopping?.at ?? '')
  return { since: Number.isNaN(at) ? Date.now() : at, mine: false }
}

/** The tools that a stop waits for, for "can't be interrupted". */
export function stubborn(view: ChatView): string[] {
  const items = view.turn?.items ?? []
  return items.flatMap((i) => (i.kind === 'tool' && i.startedAt && !i.outcome && !i.abortable ? [i.name] : []))
}

/** The requests that wait for a person. */
export function pending(view: ChatView) {
  return openActions(view.turn)
}
