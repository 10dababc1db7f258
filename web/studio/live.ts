// The stream of this browser, and what pages read from it.
import { useEffect, useMemo, useState, useSyncExternalStore } from 'react'
import { StreamClient } from '../shared/stream/client.ts'
import type { LiveState, Operations } from '../shared/stream/frames.ts'
import { sharedLink } from '../shared/stream/shared.ts'

let client: StreamClient | undefined

/** The stream, opened when it is first asked for. */
export function stream(): StreamClient {
  client ??= new StreamClient(sharedLink('/api/stream'))
  return client
}

/** The live states of sessions, by id; those that have not been told are missing. */
export function useStates(ids: string[]): ReadonlyMap<string, LiveState> {
  const [states, setStates] = useState<ReadonlyMap<string, LiveState>>(new Map())
  const key = ids.join(',')
  useEffect(() => {
    if (!key) return
    return stream().watchStates(key.split(','), (s) => setStates((m) => new Map(m).set(s.sessionId, s)))
  }, [key])
  return states
}

export function useOperations(): { operations: Operations; at: number } | undefined {
  const [now, setNow] = useState<{ operations: Operations; at: number }>()
  useEffect(() => stream().watchOperations((operations) => setNow({ operations, at: Date.now() })), [])
  return now
}

/** How many requests wait, and a version that changes with the list. */
export function useInbox(): { open: number; version: string } | undefined {
  const s = stream()
  return useSyncExternalStore(s.onChange, () => s.inbox)
}

export function useConnection() {
  const s = stream()
  return useSyncExternalStore(s.onChange, () => s.connection)
}

export function useNode(): string | undefined {
  const s = stream()
  return useSyncExternalStore(s.onChange, () => s.node)
}

/** A list of ids that keeps its identity while they are the same. */
export function useIds<T>(items: readonly T[] | undefined, id: (t: T) => string): string[] {
  const key = (items ?? []).map(id).join(',')
  return useMemo(() => (key ? key.split(',') : []), [key])
}
