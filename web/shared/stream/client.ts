// A tab's end of the stream: many listeners, one hub.
import type { Event } from '../events.ts'
import type { Connection, FromTab, LiveState, Operations, ToTab } from './frames.ts'

/** How a page reaches its hub. */
export type Link = (hear: (m: ToTab) => void) => { say: (m: FromTab) => void }

export interface Follower {
  events(events: Event[]): void
  /** No more comes: it was deleted, or may not be read. */
  closed(code: string): void
}

type Listeners<T> = Set<(value: T) => void>

/** Follows sessions, states, operations and the inbox over one link. */
export class StreamClient {
  connection: Connection = { state: 'connecting' }
  node: string | undefined
  inbox: { open: number; version: string } | undefined
  private readonly link: { say: (m: FromTab) => void }
  private readonly followers = new Map<string, Map<Follower, number>>()
  private readonly states = new Map<(s: LiveState) => void, string[]>()
  private readonly operations: Listeners<Operations> = new Set()
  private readonly changes: Listeners<void> = new Set()
  private readonly signedOut: Listeners<void> = new Set()

  constructor(link: Link) {
    this.link = link((m) => this.hear(m))
    globalThis.addEventListener?.('online', () => this.link.say({ type: 'retry' }))
  }

  /** Calls the follower with all events above after, in order, until it is released. */
  follow(sessionId: string, after: number, follower: Follower): () => void {
    const all = this.followers.get(sessionId) ?? new Map<Follower, number>()
    all.set(follower, after)
    this.followers.set(sessionId, all)
    this.link.say({ type: 'follow', sessionId, after })
    return () => {
      if (!all.delete(follower) || all.size > 0) return
      if (this.followers.get(sessionId) === all) this.followers.delete(sessionId)
      this.link.say({ type: 'unfollow', sessionId })
    }
  }

  /** Calls back with the state of each session now and when it changes. */
  watchStates(ids: string[], changed: (s: LiveState) => void): () => void {
    this.states.set(changed, ids)
    this.sayStates()
    return () => {
      this.states.delete(changed)
      this.sayStates()
    }
  }

  watchOperations(changed: (o: Operations) => void): () => void {
    this.operations.add(changed)
    this.link.say({ type: 'operations', on: true })
    return () => {
      this.operations.delete(changed)
      if (this.operations.size === 0) this.link.say({ type: 'operations', on: false })
    }
  }

  /** Calls back when the connection or the inbox changes. */
  onChange = (changed: () => void): (() => void) => {
    this.changes.add(changed)
    return () => this.changes.delete(changed)
  }

  onSignedOut(out: () => void): () => void {
    this.signedOut.add(out)
    return () => this.signedOut.delete(out)
  }

  /** Tries to connect now, not at the next attempt. */
  retry() {
    this.link.say({ type: 'retry' })
  }

  /** Opens the stream anew: who is signed in, or where, has changed. */
  reopen() {
    this.link.say({ type: 'reopen' })
  }

  close() {
    this.link.say({ type: 'bye' })
  }

  private sayStates() {
    this.link.say({ type: 'states', ids: [...new Set([...this.states.values()].flat())].slice(0, 100) })
  }

  private hear(m: ToTab) {
    switch (m.type) {
      case 'events':
        for (const f of this.followers.get(m.sessionId)?.keys() ?? []) f.events(m.events)
        return
      case 'closed':
        for (const f of this.followers.get(m.sessionId)?.keys() ?? []) f.closed(m.code)
        this.followers.delete(m.sessionId)
        return
      case 'state':
        for (const [changed, ids] of this.states) if (ids.includes(m.session.sessionId)) changed(m.session)
        return
      case 'operations':
        for (const changed of this.operations) changed(m.operations)
        return
      case 'connection':
        this.connection = m.connection
        this.node = m.node
        break
      case 'inbox':
        this.inbox = { open: m.open, version: m.version }
        break
      case 'signed_out':
        for (const out of this.signedOut) out()
        return
    }
    for (const changed of this.changes) changed()
  }
}
