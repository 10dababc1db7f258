// Journals for tests: scripted ones, and random ones by a seed.
import type { Event } from '../events.ts'

type Body = { [E in Event as E['type']]: { type: E['type']; data: E['data'] } }[Event['type']]

export const tokens = { input_tokens: 10, cached_input_tokens: 0, output_tokens: 5, reasoning_tokens: 0, cost_usd: 0 }

/** Numbers bodies from 1, a second apart. */
export class Journal {
  readonly events: Event[] = []
  private index = 0
  private seq = 0

  constructor(private turn = 't1') {}

  add(...bodies: Body[]): this {
    for (const b of bodies) {
      this.seq++
      const created_at = new Date(Date.UTC(2026, 0, 1) + this.seq * 1000).toISOString()
      this.events.push({ ...b, seq: this.seq, run_id: this.turn, created_at } as Event)
    }
    return this
  }

  skip(n: number): this {
    this.seq += n
    return this
  }

  begin(turn: string, text: string, door = 'studio', by = 'user:Ada'): this {
    this.turn = turn
    return this.add(
      { type: 'message', data: { index: this.index++, role: 'user', content: text, status: 'completed' } },
      {
        type: 'turn.started',
        data: { agent: 'demo', version: 0, model: 'scripted', door, by, message_index: this.index },
      },
    )
  }

  say(...texts: string[]): this {
    return this.add(...texts.map((text) => ({ type: 'text.delta' as const, data: { text } })))
  }

  answer(content: string, more: Partial<Extract<Body, { type: 'message' }>['data']> = {}): this {
    return this.add({
      type: 'message',
      data: { index: this.index++, role: 'assistant', content, status: 'completed', ...more },
    })
  }

  stopping(by = 'user:Ada', node = 'node-1'): this {
    return this.add({ type: 'turn.stopping', data: { by, door: 'studio', node } })
  }

  end(more: Partial<Extract<Body, { type: 'turn.ended' }>['data']> = {}): this {
    return this.add({ type: 'turn.ended', data: { status: 'completed', usage: tokens, ...more } })
  }

  stopped(): this {
    const at = '2026-01-01T00:00:00Z'
    return this.end({
      status: 'incomplete',
      stop_reason: 'cancelled',
      stop: { by: 'user:Ada', door: 'studio', node: 'node-1', at },
    })
  }
}

/** A generator of numbers in [0, n) that is the same for the same seed. */
export function dice(seed: number): (n: number) => number {
  let s = seed >>> 0
  return (n) => {
    s = (s + 0x6d2b79f5) >>> 0
    let t = Math.imul(s ^ (s >>> 15), 1 | s)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) % n
  }
}

/** A journal of some turns: answers, tools, approvals, stops, gaps. */
export function randomJournal(seed: number): Event[] {
  const roll = dice(seed)
  const j = new Journal()
  const turns = 1 + roll(4)
  for (let t = 0; t < turns; t++) {
    j.begin(`turn-${t}`, `question ${t}`)
    const steps = roll(4)
    for (let s = 0; s < steps; s++) step(j, roll, `${t}-${s}`)
    const texts = Array.from({ length: roll(8) }, (_, i) => `w${i} `)
    j.say(...texts)
    if (roll(3) === 0) {
      if (roll(2) === 0) j.stopping()
      if (roll(4) === 0) j.skip(100_000)
      else j.answer(texts.join(''), { status: 'incomplete', stop_reason: 'cancelled' })
      j.stopped()
    } else {
      j.answer(texts.join('')).end()
    }
  }
  return j.events
}

function step(j: Journal, roll: (n: number) => number, id: string) {
  const call = { id: `call-${id}`, name: 'lookup', arguments: { id } }
  if (roll(2) === 0) j.add({ type: 'reasoning.delta', data: { text: 'thinking ' } })
  j.say('let me look ').answer('let me look ', { calls: [call] })
  if (roll(3) === 0) {
    j.add(
      {
        type: 'action.requested',
        data: {
          action_id: `a-${id}`,
          call_id: call.id,
          action_type: 'approval',
          name: call.name,
          arguments: call.arguments,
        },
      },
      { type: 'turn.paused', data: { actions: [`a-${id}`] } },
      { type: 'action.decided', data: { action_id: `a-${id}`, state: 'approved', by: 'user:Ada' } },
    )
  }
  j.add({
    type: 'tool.started',
    data: { call_id: call.id, name: call.name, arguments: call.arguments, abortable: roll(2) === 0 },
  })
  if (roll(2) === 0) j.add({ type: 'tool.output', data: { call_id: call.id, text: 'line\n' } })
  if (roll(8) !== 0) {
    j.add({
      type: 'tool.finished',
      data: { call_id: call.id, name: call.name, outcome: 'success', output: 'found', duration_ms: 5 },
    })
  }
}
