import { describe, expect, it } from 'vitest'
import { type Event, isDelta } from './events.ts'
import { emptyChat, liveTurn, openActions, reduce, type ToolItem } from './reducer.ts'
import { dice, Journal, randomJournal } from './testing/journal.ts'

function split(events: Event[], roll: (n: number) => number): Event[][] {
  const parts: Event[][] = []
  for (let i = 0; i < events.length; ) {
    const n = 1 + roll(6)
    parts.push(events.slice(i, i + n))
    i += n
  }
  return parts
}

// What retention may take: deltas of turns that have ended.
function retained(events: Event[]): Event[] {
  const ended = new Set(events.filter((e) => e.type === 'turn.ended').map((e) => e.run_id))
  const settled = new Set(
    events
      .filter((e) => e.type === 'message' && e.data.role === 'assistant' && e.data.stop_reason)
      .map((e) => e.run_id),
  )
  return events.filter(
    (e) => !(isDelta(e) && ended.has(e.run_id) && (settled.has(e.run_id) || complete(events, e.run_id))),
  )
}

function complete(events: Event[], turn: string): boolean {
  return events.some((e) => e.type === 'turn.ended' && e.run_id === turn && e.data.status === 'completed')
}

describe('reduce', () => {
  it('gives the same state for any split of a journal', () => {
    for (let seed = 1; seed <= 300; seed++) {
      const events = randomJournal(seed)
      const whole = reduce(emptyChat, events)
      const parts = split(events, dice(seed * 7919)).reduce(reduce, emptyChat)
      expect(parts, `seed ${seed}`).toEqual(whole)
      expect(
        events.reduce((c, e) => reduce(c, [e]), emptyChat),
        `seed ${seed}, one by one`,
      ).toEqual(whole)
    }
  })

  // Case 78: a reconnect that replays what was seen, from anywhere.
  it('is not changed by a replay from any place', () => {
    for (let seed = 1; seed <= 200; seed++) {
      const events = randomJournal(seed)
      const roll = dice(seed * 104729)
      const whole = reduce(emptyChat, events)
      const cut = roll(events.length)
      const from = roll(cut + 1)
      const resumed = reduce(reduce(emptyChat, events.slice(0, cut)), events.slice(from))
      expect(resumed, `seed ${seed}, cut ${cut}, from ${from}`).toEqual(whole)
    }
  })

  it('does not need the deltas of ended turns', () => {
    for (let seed = 1; seed <= 200; seed++) {
      const events = randomJournal(seed)
      const strip = (c: typeof emptyChat) =>
        c.turns.map((t) => ({
          ...t,
          items: t.items
            .map(({ ...i }) => ({ ...i, at: '' }))
            .filter((i) => i.kind !== 'answer' || i.text || i.reasoning),
        }))
      const full = strip(reduce(emptyChat, events))
      expect(
        strip(reduce(emptyChat, retained(events))).map((t) => t.items.length),
        `seed ${seed}`,
      ).toEqual(full.map((t) => t.items.length))
    }
  })

  it('leaves what it was given alone and keeps what did not change', () => {
    const j = new Journal().begin('a', 'hi').say('hello').answer('hello').end().begin('b', 'again').say('so')
    const before = reduce(emptyChat, j.events.slice(0, 7))
    const copy = structuredClone(before)
    const after = reduce(before, j.events.slice(7))
    expect(before).toEqual(copy)
    expect(after.turns[0]).toBe(before.turns[0])
    expect(reduce(after, j.events)).toBe(after)
  })

  it('keeps the partial answer of a stopped turn, and never lets it change after the end', () => {
    const j = new Journal()
      .begin('a', 'tell me')
      .say('one ', 'two ')
      .stopping()
      .answer('one two ', { status: 'incomplete', stop_reason: 'cancelled' })
      .stopped()
    const chat = reduce(emptyChat, j.events)
    expect(chat.turns[0]?.phase).toBe('ended')
    expect(chat.turns[0]?.end?.stopReason).toBe('cancelled')
    const late = reduce(chat, new Journal('a').skip(j.events.length).say('three').answer('').events)
    expect(late.turns).toEqual(chat.turns)
    expect(late.turns[0]?.items.at(-1)).toMatchObject({ text: 'one two ' })
  })

  it('takes the message as the last word on its deltas', () => {
    const chat = reduce(
      emptyChat,
      new Journal().begin('a', 'x').say('seen by a follower of a cut-off node').skip(100_000).answer('stored').events,
    )
    expect(chat.turns[0]?.items.at(-1)).toMatchObject({ text: 'stored' })
  })

  it('says of each tool what became of it, also when the turn ends around it', () => {
    const j = new Journal().begin('a', 'x').answer('', {
      calls: [
        { id: '1', name: 'send', arguments: {} },
        { id: '2', name: 'never', arguments: {} },
        { id: '3', name: 'lost', arguments: {} },
      ],
    })
    j.add(
      { type: 'tool.started', data: { call_id: '1', name: 'send', arguments: {}, abortable: false } },
      { type: 'tool.started', data: { call_id: '3', name: 'lost', arguments: {}, abortable: true } },
    )
    j.end({
      status: 'incomplete',
      stop_reason: 'cancelled',
      tools: [{ call_id: '1', name: 'send', outcome: 'dropped' }],
    })
    const tools = reduce(emptyChat, j.events).turns[0]?.items.filter((i): i is ToolItem => i.kind === 'tool')
    expect(tools?.map((t) => [t.name, t.outcome])).toEqual([
      ['send', 'dropped'],
      ['never', 'aborted'],
      ['lost', 'unconfirmed'],
    ])
  })

  // Cases 91 and 93: a card's outcome is state of the journal, not of the page.
  it('waits while a request is open and shows what became of it', () => {
    const j = new Journal().begin('a', 'x').add(
      {
        type: 'action.requested',
        data: { action_id: 'q', call_id: '1', action_type: 'approval', name: 'pay', arguments: {} },
      },
      { type: 'turn.paused', data: { actions: ['q'] } },
    )
    const waiting = reduce(emptyChat, j.events)
    expect(liveTurn(waiting)?.phase).toBe('waiting')
    expect(openActions(liveTurn(waiting))).toHaveLength(1)
    const seen = j.events.length
    j.add({ type: 'action.decided', data: { action_id: 'q', state: 'withdrawn', by: 'user:Ada' } }).stopped()
    const stopped = reduce(waiting, j.events.slice(seen))
    expect(liveTurn(stopped)).toBeUndefined()
    expect(stopped.turns[0]?.items.at(-1)).toMatchObject({ state: 'withdrawn', by: 'user:Ada' })
  })

  it('lets an approval that survived the stop of its turn be decided later', () => {
    const j = new Journal()
      .begin('a', 'x')
      .add({
        type: 'action.requested',
        data: { action_id: 'q', call_id: '1', action_type: 'approval', name: 'pay', arguments: {} },
      })
      .stopped()
    const seen = reduce(emptyChat, j.events)
    expect(seen.turns[0]?.items.at(-1)).toMatchObject({ state: 'open' })
    j.add({ type: 'action.decided', data: { action_id: 'q', state: 'denied' } })
    expect(reduce(seen, j.events).turns[0]?.items.at(-1)).toMatchObject({ state: 'denied' })
  })

  it('reads a long journal at once', () => {
    const j = new Journal()
    for (let t = 0; t < 1000; t++) j.begin(`t${t}`, 'q').say('a', 'b', 'c').answer('abc').end()
    expect(reduce(emptyChat, j.events).turns).toHaveLength(1000)
  })
})
