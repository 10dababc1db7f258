// A session as its journal tells it: one pure function from events to what a
// chat shows. Studio, portal and embed all draw from it.
import type {
  ActionState,
  ActionType,
  CallUsage,
  Event,
  MessageEvent,
  Tokens,
  ToolFinished,
  ToolOutcome,
  TurnEnded,
  TurnStarted,
} from './events.ts'

/** Message is what a person sent. */
export interface UserItem {
  kind: 'user'
  id: string
  index: number
  text: string
  at: string
}

/** One model call's part of the answer. Streaming until its message is whole. */
export interface AnswerItem {
  kind: 'answer'
  id: string
  text: string
  reasoning: string
  status: 'streaming' | 'completed' | 'incomplete'
  stopReason?: string
  usage?: CallUsage
  at: string
}

/** A tool call. Without startedAt it was asked for and has not been run. */
export interface ToolItem {
  kind: 'tool'
  id: string
  callId: string
  name: string
  source?: string
  args: unknown
  abortable: boolean
  startedAt?: string
  printed: string
  outcome?: ToolOutcome
  output?: string
  durationMs?: number
  child?: { conversation_id: string; run_id: string; status?: string; stop_reason?: string }
}

/** An approval or a question. */
export interface ActionItem {
  kind: 'action'
  id: string
  actionId: string
  callId: string
  type: ActionType
  name: string
  args: unknown
  state: ActionState
  by?: string
  at: string
}

export type Item = UserItem | AnswerItem | ToolItem | ActionItem

export interface TurnEnd {
  at: string
  status: TurnEnded['data']['status']
  stopReason?: TurnEnded['data']['stop_reason']
  stopDetail?: string
  stop?: TurnEnded['data']['stop']
  error?: TurnEnded['data']['error']
  usage: Tokens
}

export type Phase = 'running' | 'waiting' | 'stopping' | 'ended'

export interface Turn {
  id: string
  at: string
  phase: Phase
  started?: TurnStarted['data']
  stopping?: { by: string; door: string; node: string; at: string }
  end?: TurnEnd
  items: readonly Item[]
}

export interface Chat {
  /** The number of the last event that is in here. */
  seq: number
  turns: readonly Turn[]
}

export const emptyChat: Chat = { seq: 0, turns: [] }

/**
 * Returns the chat with the events in it, which must be in the order of their
 * numbers. An event that is in it already changes nothing, so a stream may begin
 * anywhere at or before the chat's seq. What did not change keeps its identity.
 */
export function reduce(chat: Chat, events: readonly Event[]): Chat {
  const draft = new Draft(chat)
  for (const e of events) {
    if (e.seq > draft.seq) draft.apply(e)
  }
  return draft.done()
}

/** The turn that has not ended, if there is one. */
export function liveTurn(chat: Chat): Turn | undefined {
  const last = chat.turns.at(-1)
  return last && last.phase !== 'ended' ? last : undefined
}

/** What waits for a person in a turn. */
export function openActions(turn: Turn | undefined): ActionItem[] {
  return (turn?.items ?? []).filter((i): i is ActionItem => i.kind === 'action' && i.state === 'open')
}

/** The tools of a turn that run now. */
export function runningTools(turn: Turn | undefined): ToolItem[] {
  return (turn?.items ?? []).filter((i): i is ToolItem => i.kind === 'tool' && !!i.startedAt && !i.outcome)
}

// Draft copies each thing at most once for a batch of events.
class Draft {
  seq: number
  private turns: Turn[] | undefined
  private readonly owned = new Map<string, Turn & { items: Item[] }>()

  constructor(private readonly base: Chat) {
    this.seq = base.seq
  }

  done(): Chat {
    if (this.seq === this.base.seq) return this.base
    return { seq: this.seq, turns: this.turns ?? this.base.turns }
  }

  apply(e: Event) {
    this.seq = e.seq
    if (e.type === 'action.decided') {
      this.decided(e.run_id, e.data)
      return
    }
    const turn = this.turn(e.run_id, e.created_at)
    // A turn that has ended is settled: nothing in it shrinks or grows any more.
    if (turn.phase === 'ended') return
    applyTo(turn, e)
  }

  private turn(id: string, at: string): Turn & { items: Item[] } {
    const mine = this.owned.get(id)
    if (mine) return mine
    this.turns ??= [...this.base.turns]
    let i = this.turns.length - 1
    while (i >= 0 && this.turns[i]?.id !== id) i--
    const old = this.turns[i]
    const copy = old ? { ...old, items: [...old.items] } : { id, at, phase: 'running' as const, items: [] }
    this.turns[old ? i : this.turns.length] = copy
    this.owned.set(id, copy)
    return copy
  }

  // An approval that survived the stop of its turn is decided after its end.
  private decided(run: string, data: { action_id: string; state: ActionState; by?: string }) {
    const turn = this.turn(run, '')
    change(turn.items, 'action', (i) => i.actionId === data.action_id, { state: data.state, by: data.by })
    if (turn.phase === 'waiting' && openActions(turn).length === 0) turn.phase = 'running'
  }
}

type Mutable = Turn & { items: Item[] }

function applyTo(turn: Mutable, e: Exclude<Event, { type: 'action.decided' }>) {
  switch (e.type) {
    case 'turn.started':
      turn.started = e.data
      return
    case 'turn.paused':
      turn.phase = 'waiting'
      return
    case 'turn.stopping':
      turn.phase = 'stopping'
      turn.stopping = { ...e.data, at: e.created_at }
      return
    case 'turn.ended':
      end(turn, e)
      return
    case 'message':
      message(turn, e)
      return
    case 'text.delta':
      grow(turn, e.created_at, e.data.text, '')
      return
    case 'reasoning.delta':
      grow(turn, e.created_at, '', e.data.text)
      return
    case 'tool.started':
      put(turn, e.data.call_id, e.data.name, {
        source: e.data.source,
        args: e.data.arguments,
        abortable: e.data.abortable,
        child: e.data.child,
        startedAt: e.created_at,
      })
      return
    case 'tool.output':
      change(
        turn.items,
        'tool',
        (i) => i.callId === e.data.call_id,
        (i) => ({ printed: i.printed + e.data.text }),
      )
      return
    case 'tool.finished':
      finished(turn, e)
      return
    case 'action.requested':
      turn.items.push({
        kind: 'action',
        id: `action-${e.data.action_id}`,
        actionId: e.data.action_id,
        callId: e.data.call_id,
        type: e.data.action_type,
        name: e.data.name,
        args: e.data.arguments,
        state: 'open',
        at: e.created_at,
      })
  }
}

function finished(turn: Mutable, e: ToolFinished) {
  const d = e.data
  put(turn, d.call_id, d.name, { outcome: d.outcome, output: d.output, durationMs: d.duration_ms, printed: '' })
  if (d.child) change(turn.items, 'tool', (i) => i.callId === d.call_id, { child: d.child })
}

function streaming(turn: Turn): AnswerItem | undefined {
  const last = turn.items.at(-1)
  return last?.kind === 'answer' && last.status === 'streaming' ? last : undefined
}

function answerId(turn: Turn): string {
  return `${turn.id}-${turn.items.filter((i) => i.kind === 'answer').length}`
}

function grow(turn: Mutable, at: string, text: string, reasoning: string) {
  const last = streaming(turn)
  if (last) {
    turn.items[turn.items.length - 1] = { ...last, text: last.text + text, reasoning: last.reasoning + reasoning }
    return
  }
  turn.items.push({ kind: 'answer', id: answerId(turn), text, reasoning, status: 'streaming', at })
}

// A message repeats what its deltas said and is the last word on it.
function message(turn: Mutable, e: MessageEvent) {
  const d = e.data
  if (d.role === 'user') {
    turn.items.push({
      kind: 'user',
      id: `${turn.id}-user-${d.index}`,
      index: d.index,
      text: d.content,
      at: e.created_at,
    })
    return
  }
  const last = streaming(turn)
  const item: AnswerItem = {
    kind: 'answer',
    id: last?.id ?? answerId(turn),
    text: d.content,
    reasoning: d.reasoning ?? '',
    status: d.status,
    stopReason: d.stop_reason,
    usage: d.usage,
    at: last?.at ?? e.created_at,
  }
  if (last) turn.items[turn.items.length - 1] = item
  else turn.items.push(item)
  for (const c of d.calls ?? []) put(turn, c.id, c.name, { args: c.arguments })
}

// put adds a tool call or changes the one that is there.
function put(turn: Mutable, callId: string, name: string, set: Partial<ToolItem>) {
  if (change(turn.items, 'tool', (i) => i.callId === callId, set)) return
  turn.items.push({
    kind: 'tool',
    id: `tool-${callId}`,
    callId,
    name,
    args: undefined,
    abortable: true,
    printed: '',
    ...set,
  })
}

function end(turn: Mutable, e: TurnEnded) {
  const d = e.data
  turn.phase = 'ended'
  turn.end = {
    at: e.created_at,
    status: d.status,
    stopReason: d.stop_reason,
    stopDetail: d.stop_detail,
    stop: d.stop,
    error: d.error,
    usage: d.usage,
  }
  const outcomes = new Map((d.tools ?? []).map((t) => [t.call_id, t.outcome]))
  turn.items.forEach((item, i) => {
    if (item.kind === 'answer' && item.status === 'streaming') {
      turn.items[i] = { ...item, status: 'incomplete' }
    } else if (item.kind === 'tool' && !item.outcome) {
      turn.items[i] = { ...item, outcome: outcomes.get(item.callId) ?? (item.startedAt ? 'unconfirmed' : 'aborted') }
    }
  })
}

type Kinds = { [K in Item['kind']]: Extract<Item, { kind: K }> }

// change replaces the newest item of a kind that fits and says whether there was one.
function change<K extends Item['kind']>(
  items: Item[],
  kind: K,
  fits: (i: Kinds[K]) => boolean,
  set: Partial<Kinds[K]> | ((i: Kinds[K]) => Partial<Kinds[K]>),
): boolean {
  for (let n = items.length - 1; n >= 0; n--) {
    const item = items[n]
    if (item?.kind !== kind) continue
    const found = item as Kinds[K]
    if (!fits(found)) continue
    items[n] = { ...found, ...(typeof set === 'function' ? set(found) : set) } as Item
    return true
  }
  return false
}
