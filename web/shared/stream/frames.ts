// What a stream carries, and what a hub and its tabs say to each other.
import type { components } from '../api/studio.gen.ts'
import type { Event } from '../events.ts'

type Schemas = components['schemas']

export type Operations = Schemas['Operations']
export type LiveState = Schemas['LiveState']
type Journal = Omit<Schemas['JournalFrame'], 'event'> & { event: Event }

/** One message of the server's stream. */
export type Frame =
  | Schemas['ReadyFrame']
  | Journal
  | Schemas['StateFrame']
  | Schemas['InboxFrame']
  | Schemas['OperationsFrame']
  | Schemas['GoneFrame']
  | Schemas['SignedOutFrame']

/** What the tabs of a browser look at together. */
export interface Wanted {
  follow: Map<string, number>
  states: Set<string>
  operations: boolean
}

/** Live: connected. Lost: it was, or should have been; since when. */
export type Connection = { state: 'connecting' | 'live' } | { state: 'lost'; since: number }

export type FromTab =
  | { type: 'follow'; sessionId: string; after: number }
  | { type: 'unfollow'; sessionId: string }
  | { type: 'states'; ids: string[] }
  | { type: 'operations'; on: boolean }
  | { type: 'retry' }
  | { type: 'reopen' }
  | { type: 'bye' }

export type ToTab =
  | { type: 'events'; sessionId: string; events: Event[] }
  | { type: 'closed'; sessionId: string; code: string }
  | { type: 'connection'; connection: Connection; node?: string }
  | Schemas['StateFrame']
  | Schemas['InboxFrame']
  | Schemas['OperationsFrame']
  | Schemas['SignedOutFrame']
