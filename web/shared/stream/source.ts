// Opens one stream of frames and reads it to its end.
import { createParser, type EventSourceMessage } from 'eventsource-parser'
import type { Frame, Wanted } from './frames.ts'

/** Reads a stream: every frame, and 'alive' for bytes that are no frame. Throws when it can't be opened. */
export type Source = (wanted: Wanted, signal: AbortSignal) => AsyncIterable<Frame | 'alive'>

/** The stream was refused: the sign-in, or the visitor, is not known any more. */
export class NotSignedIn extends Error {}

/** The address of a stream that carries what is wanted. */
export function streamQuery(wanted: Wanted): string {
  const query = new URLSearchParams()
  const follow = [...wanted.follow].map(([id, seq]) => `${id}:${seq}`).join(',')
  if (follow) query.set('follow', follow)
  const states = [...wanted.states].join(',')
  if (states) query.set('states', states)
  if (wanted.operations) query.set('operations', 'true')
  const text = query.toString()
  return text ? `?${text}` : ''
}

/** Headers that are asked for at each attempt: a token may have been renewed. */
export type Headers = () => Promise<Record<string, string>>

/** A source that reads text/event-stream by fetch, so that it can send headers. */
export function httpSource(url: string, headers: Record<string, string> = {}): Source {
  return async function* (wanted, signal) {
    const res = await fetch(url + streamQuery(wanted), {
      headers: { Accept: 'text/event-stream', ...headers },
      cache: 'no-store',
      signal,
    })
    if (res.status === 401) throw new NotSignedIn('not signed in')
    if (!res.ok || !res.body) throw new Error(`the stream was refused with status ${res.status}`)
    yield* read<Frame>(res.body, signal)
  }
}

/** The messages of a text/event-stream body, and 'alive' for each piece of it. */
export async function* read<T>(body: ReadableStream<Uint8Array>, signal: AbortSignal): AsyncIterable<T | 'alive'> {
  const got: T[] = []
  const parser = createParser({
    onEvent: (e: EventSourceMessage) => {
      got.push(JSON.parse(e.data) as T)
    },
  })
  const reader = body.getReader()
  const decoder = new TextDecoder()
  try {
    for (;;) {
      const { value, done } = await reader.read()
      if (done || signal.aborted) return
      parser.feed(decoder.decode(value, { stream: true }))
      yield 'alive'
      yield* got.splice(0)
    }
  } finally {
    reader.cancel().catch(() => undefined)
  }
}
