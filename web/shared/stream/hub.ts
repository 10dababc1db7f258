// One stream for all tabs of a browser. A browser opens six connections to a host
// over HTTP/1.1: with a stream in each tab the Stop of the seventh would never leave.
import { type Event, isDelta } from '../events.ts'
import type { Connection, Frame, FromTab, ToTab, Wanted } from './frames.ts'
import { NotSignedIn, type Source } from './source.ts'

export interface HubTimes {
  /** Silence after which the connection is dead: more than two of the server's heartbeats. */
  silence: number
  /** Waits between attempts: the first one, doubled up to the last. */
  retryFirst: number
  retryLast: number
  /** How long changes of what is wanted are collected before the stream is opened anew. */
  settle: number
}

const usual: HubTimes = { silence: 35_000, retryFirst: 400, retryLast: 8_000, settle: 15 }

/** A tab's end of the hub. */
export interface Tab {
  say(message: FromTab): void
}

interface Member {
  send: (m: ToTab) => void
  follow: Map<string, number>
  states: Set<string>
  operations: boolean
}

// A followed session: the events from `from` on, to give to tabs that come later.
interface Session {
  from: number
  seq: number
  events: Event[]
}

export class Hub {
  private readonly members = new Set<Member>()
  private readonly sessions = new Map<string, Session>()
  private readonly latest = new Map<string, ToTab>()
  private connection: Connection = { state: 'connecting' }
  private node: string | undefined
  private stream: AbortController | undefined
  private asked = ''
  private attempts = 0
  private settling: ReturnType<typeof setTimeout> | undefined
  private waiting: ReturnType<typeof setTimeout> | undefined
  private paused = false
  private readonly times: HubTimes

  constructor(
    private readonly source: Source,
    times: Partial<HubTimes> = {},
  ) {
    this.times = { ...usual, ...times }
  }

  /** Adds a tab. It hears how things stand at once. */
  join(send: (m: ToTab) => void): Tab {
    const member: Member = { send, follow: new Map(), states: new Set(), operations: false }
    this.members.add(member)
    send({ type: 'connection', connection: this.connection, node: this.node })
    for (const m of this.latest.values()) if (m.type === 'inbox') send(m)
    this.changed()
    return { say: (m) => this.hear(member, m) }
  }

  /** Gives the connection up until it is resumed; for pages that nobody sees. */
  pause(paused: boolean) {
    this.paused = paused
    if (paused) {
      this.drop()
      this.asked = ''
    } else {
      this.retry()
    }
  }

  private hear(member: Member, m: FromTab) {
    switch (m.type) {
      case 'follow':
        member.follow.set(m.sessionId, m.after)
        this.catchUp(member, m.sessionId, m.after)
        break
      case 'unfollow':
        member.follow.delete(m.sessionId)
        break
      case 'states':
        member.states = new Set(m.ids)
        for (const id of m.ids) this.tell(member, `state ${id}`)
        break
      case 'operations':
        member.operations = m.on
        if (m.on) this.tell(member, 'operations')
        break
      case 'retry':
        this.retry()
        return
      case 'reopen':
        this.latest.clear()
        this.attempts = 0
        this.open()
        return
      case 'bye':
        this.members.delete(member)
    }
    this.changed()
  }

  private tell(member: Member, key: string) {
    const m = this.latest.get(key)
    if (m) member.send(m)
  }

  // A tab that begins within what is known is given the rest of it; one that begins
  // earlier makes the whole session be asked for again, which no reducer minds.
  private catchUp(member: Member, id: string, after: number) {
    const s = this.sessions.get(id)
    if (!s || after < s.from) {
      this.sessions.set(id, { from: after, seq: after, events: [] })
      this.asked = ''
      return
    }
    const events = s.events.filter((e) => e.seq > after)
    if (events.length > 0) member.send({ type: 'events', sessionId: id, events })
  }

  private changed() {
    clearTimeout(this.settling)
    this.settling = setTimeout(() => this.settle(), this.times.settle)
  }

  private settle() {
    const followed = new Set([...this.members].flatMap((m) => [...m.follow.keys()]))
    for (const id of this.sessions.keys()) if (!followed.has(id)) this.sessions.delete(id)
    if (this.members.size === 0) {
      this.drop()
      this.asked = ''
      return
    }
    if (this.paused) return
    const wanted = this.wanted()
    const key = JSON.stringify([[...wanted.follow.keys()].sort(), [...wanted.states].sort(), wanted.operations])
    if (key === this.asked && this.stream) return
    this.asked = key
    this.open()
  }

  private wanted(): Wanted {
    const all = [...this.members]
    return {
      follow: new Map([...this.sessions].map(([id, s]) => [id, s.seq])),
      states: new Set(all.flatMap((m) => [...m.states])),
      operations: all.some((m) => m.operations),
    }
  }

  private retry() {
    if (this.connection.state === 'live' && this.stream && !this.paused) return
    this.attempts = 0
    this.open()
  }

  private drop() {
    clearTimeout(this.waiting)
    this.stream?.abort()
    this.stream = undefined
  }

  // Opens a stream; the one before it is closed when the new one is there, so
  // that looking at something else leaves no gap.
  private open() {
    clearTimeout(this.waiting)
    if (this.paused || this.members.size === 0) return
    const before = this.stream
    const mine = new AbortController()
    this.stream = mine
    void this.read(mine, () => before?.abort()).finally(() => before?.abort())
  }

  private async read(mine: AbortController, ready: () => void) {
    let watchdog: ReturnType<typeof setTimeout> | undefined
    const alive = () => {
      clearTimeout(watchdog)
      watchdog = setTimeout(() => mine.abort(), this.times.silence)
    }
    let known = true
    try {
      alive()
      for await (const frame of this.source(this.wanted(), mine.signal)) {
        if (mine.signal.aborted) break
        alive()
        if (frame === 'alive') continue
        if (frame.type === 'ready') ready()
        this.take(frame)
      }
    } catch (e) {
      known = !(e instanceof NotSignedIn)
    } finally {
      clearTimeout(watchdog)
    }
    if (this.stream !== mine) return
    this.stream = undefined
    if (this.paused || this.members.size === 0) return
    if (!known) {
      this.take({ type: 'signed_out' })
      return
    }
    this.lost()
  }

  private lost() {
    if (this.connection.state !== 'lost') this.connected({ state: 'lost', since: Date.now() })
    const wait = Math.min(this.times.retryLast, this.times.retryFirst * 2 ** this.attempts++)
    this.waiting = setTimeout(() => this.open(), wait * (0.75 + Math.random() / 2))
  }

  private connected(c: Connection, node?: string) {
    this.connection = c
    if (node) this.node = node
    this.all({ type: 'connection', connection: c, node: this.node })
  }

  private take(f: Frame) {
    switch (f.type) {
      case 'ready':
        this.attempts = 0
        this.connected({ state: 'live' }, f.node)
        for (const r of f.refused) this.closed(r.sessionId, r.code)
        return
      case 'journal':
        this.journal(f.sessionId, f.event)
        return
      case 'gone':
        this.closed(f.sessionId, 'gone')
        return
      case 'state':
        this.latest.set(`state ${f.session.sessionId}`, f)
        this.all(f, (m) => m.states.has(f.session.sessionId))
        return
      case 'operations':
        this.latest.set('operations', f)
        this.all(f, (m) => m.operations)
        return
      case 'inbox':
        this.latest.set('inbox', f)
        this.all(f)
        return
      case 'signed_out':
        this.latest.clear()
        this.all(f)
    }
  }

  private journal(id: string, e: Event) {
    const s = this.sessions.get(id)
    if (!s || e.seq <= s.seq) return
    s.seq = e.seq
    s.events.push(e)
    this.all({ type: 'events', sessionId: id, events: [e] }, (m) => m.follow.has(id))
    // Deltas of an ended turn are repeated by its messages.
    if (e.type === 'turn.ended') s.events = s.events.filter((x) => x.run_id !== e.run_id || !isDelta(x))
  }

  private closed(id: string, code: string) {
    this.sessions.delete(id)
    for (const m of this.members) {
      if (m.follow.delete(id)) m.send({ type: 'closed', sessionId: id, code })
    }
  }

  private all(m: ToTab, which: (m: Member) => boolean = () => true) {
    for (const member of this.members) if (which(member)) member.send(m)
  }
}
