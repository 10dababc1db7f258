import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Event } from '../events.ts'
import { Journal } from '../testing/journal.ts'
import type { Frame, ToTab, Wanted } from './frames.ts'
import { Hub } from './hub.ts'
import { NotSignedIn, type Source } from './source.ts'

// A server of streams: what is asked for, and what is sent on each.
class Server {
  readonly opened: {
    wanted: Wanted
    signal: AbortSignal
    put: (f: Frame | 'alive') => void
    end: (e?: unknown) => void
  }[] = []

  source: Source = (wanted, signal) => {
    const queue: (Frame | 'alive')[] = []
    let wake: () => void = () => undefined
    let over: { error?: unknown } | undefined
    const stream = {
      wanted,
      signal,
      put: (f: Frame | 'alive') => {
        queue.push(f)
        wake()
      },
      end: (error?: unknown) => {
        over = { error }
        wake()
      },
    }
    this.opened.push(stream)
    signal.addEventListener('abort', () => wake())
    return (async function* () {
      for (;;) {
        yield* queue.splice(0)
        if (signal.aborted) return
        if (over) {
          if (over.error) throw over.error
          return
        }
        await new Promise<void>((r) => {
          wake = r
        })
      }
    })()
  }

  get last() {
    const s = this.opened.at(-1)
    if (!s) throw new Error('no stream was opened')
    return s
  }

  live() {
    return this.opened.filter((s) => !s.signal.aborted)
  }
}

const ready: Frame = { type: 'ready', node: 'node-1', followed: [], refused: [] }
const frame = (sessionId: string, event: Event): Frame => ({ type: 'journal', sessionId, event }) as Frame

function tab(hub: Hub) {
  const heard: ToTab[] = []
  const end = hub.join((m) => heard.push(m))
  const seqs = () => heard.flatMap((m) => (m.type === 'events' ? m.events.map((e) => e.seq) : []))
  const connection = () => heard.findLast((m) => m.type === 'connection')
  return { heard, seqs, connection, say: end.say }
}

describe('Hub', () => {
  let server: Server
  let hub: Hub
  const events = new Journal().begin('t', 'hi').say('a', 'b', 'c').answer('abc').end().events

  beforeEach(() => {
    vi.useFakeTimers()
    server = new Server()
    hub = new Hub(server.source, { silence: 1000, retryFirst: 100, retryLast: 400, settle: 10 })
  })
  afterEach(() => vi.useRealTimers())
  const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms)
  const at = (i: number): Event => events[i] ?? ({} as Event)

  it('holds one stream for any number of tabs, and closes it with the last', async () => {
    const tabs = Array.from({ length: 7 }, () => tab(hub))
    for (const [i, t] of tabs.entries()) t.say({ type: 'follow', sessionId: `s${i}`, after: i })
    await pass(20)
    expect(server.live()).toHaveLength(1)
    expect([...server.last.wanted.follow]).toEqual(tabs.map((_, i) => [`s${i}`, i]))
    for (const t of tabs) t.say({ type: 'bye' })
    await pass(20)
    expect(server.live()).toHaveLength(0)
  })

  it('gives a tab that comes later what it missed, without asking again', async () => {
    const one = tab(hub)
    one.say({ type: 'follow', sessionId: 's', after: 0 })
    await pass(20)
    server.last.put(ready)
    for (const e of events.slice(0, 4)) server.last.put(frame('s', e))
    await pass(1)
    const two = tab(hub)
    two.say({ type: 'follow', sessionId: 's', after: 1 })
    await pass(20)
    expect(two.seqs()).toEqual([2, 3, 4])
    expect(server.opened).toHaveLength(1)
    server.last.put(frame('s', at(4)))
    await pass(1)
    expect(one.seqs()).toEqual([1, 2, 3, 4, 5])
    expect(two.seqs()).toEqual([2, 3, 4, 5])
  })

  it('opens the new stream before it closes the old one, from where it is', async () => {
    const one = tab(hub)
    one.say({ type: 'follow', sessionId: 's', after: 0 })
    await pass(20)
    const first = server.last
    first.put(ready)
    first.put(frame('s', at(0)))
    await pass(1)
    one.say({ type: 'follow', sessionId: 'other', after: 7 })
    await pass(20)
    expect([...server.last.wanted.follow]).toEqual([
      ['s', 1],
      ['other', 7],
    ])
    expect(first.signal.aborted, 'before the new one is there').toBe(false)
    server.last.put(ready)
    await pass(1)
    expect(first.signal.aborted).toBe(true)
  })

  // Case 78: each event once, however often the connection is cut.
  it('resumes at the last number', async () => {
    const one = tab(hub)
    one.say({ type: 'follow', sessionId: 's', after: 0 })
    await pass(20)
    for (let i = 0; i < events.length; i++) {
      server.last.put(ready)
      server.last.put(frame('s', at(Math.max(0, i - 1))))
      server.last.put(frame('s', at(i)))
      await pass(1)
      server.last.end(new Error('cut'))
      await pass(2000)
      expect(server.last.wanted.follow.get('s')).toBe(i + 1)
    }
    expect(one.seqs()).toEqual(events.map((e) => e.seq))
  })

  // Case 90: a pipe that is dead and does not say so.
  it('takes silence for death, and a heartbeat for life', async () => {
    const one = tab(hub)
    one.say({ type: 'follow', sessionId: 's', after: 0 })
    await pass(20)
    server.last.put(ready)
    for (let i = 0; i < 5; i++) {
      await pass(800)
      server.last.put('alive')
    }
    await pass(1)
    expect(server.opened).toHaveLength(1)
    await pass(1100)
    expect(one.connection()).toMatchObject({ connection: { state: 'lost' } })
    await pass(200)
    expect(server.opened).toHaveLength(2)
    server.last.put(ready)
    await pass(1)
    expect(one.connection()).toMatchObject({ connection: { state: 'live' }, node: 'node-1' })
  })

  it('tells everybody that nobody is signed in, and tries no more until asked', async () => {
    const one = tab(hub)
    one.say({ type: 'follow', sessionId: 's', after: 0 })
    await pass(20)
    server.last.end(new NotSignedIn('no'))
    await pass(5000)
    expect(one.heard.at(-1)).toEqual({ type: 'signed_out' })
    expect(server.opened).toHaveLength(1)
    one.say({ type: 'reopen' })
    await pass(1)
    expect(server.opened).toHaveLength(2)
  })

  it('forgets a session that is gone, or may not be read', async () => {
    const one = tab(hub)
    one.say({ type: 'follow', sessionId: 's', after: 0 })
    one.say({ type: 'follow', sessionId: 'foreign', after: 0 })
    await pass(20)
    server.last.put({ ...ready, refused: [{ sessionId: 'foreign', code: 'agent_session_not_found' }] } as Frame)
    server.last.put({ type: 'gone', sessionId: 's' })
    await pass(20)
    expect(one.heard.filter((m) => m.type === 'closed')).toEqual([
      { type: 'closed', sessionId: 'foreign', code: 'agent_session_not_found' },
      { type: 'closed', sessionId: 's', code: 'gone' },
    ])
  })
})
