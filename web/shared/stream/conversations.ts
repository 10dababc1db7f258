// A source for doors that have a stream for each conversation, as portals do.
import type { Event } from '../events.ts'
import type { Frame, Wanted } from './frames.ts'
import { type Headers, NotSignedIn, read, type Source } from './source.ts'

/** Reads the streams of all wanted conversations side by side. It ends when one of them does. */
export function conversationsSource(url: (id: string, after: number) => string, headers: Headers): Source {
  return async function* (wanted: Wanted, signal: AbortSignal) {
    const auth = await headers()
    const queue: (Frame | 'alive')[] = []
    let wake: () => void = () => undefined
    let end: { error?: unknown } | undefined
    const put = (f: Frame | 'alive') => {
      queue.push(f)
      wake()
    }
    let open = wanted.follow.size
    const one = async (id: string, after: number) => {
      const res = await fetch(url(id, after), {
        headers: { Accept: 'text/event-stream', ...auth },
        cache: 'no-store',
        signal,
      })
      if (res.status === 401) throw new NotSignedIn('the visitor is not known any more')
      if (res.status === 404) {
        put({ type: 'gone', sessionId: id })
        if (--open <= 0) put(ready(wanted))
        return
      }
      if (!res.ok || !res.body) throw new Error(`the stream was refused with status ${res.status}`)
      if (--open <= 0) put(ready(wanted))
      for await (const event of read<Event>(res.body, signal)) {
        put(event === 'alive' ? 'alive' : { type: 'journal', sessionId: id, event })
      }
      throw new Error('the stream ended')
    }
    if (open === 0) yield ready(wanted)
    for (const [id, after] of wanted.follow) {
      one(id, after).catch((error: unknown) => {
        end = { error }
        wake()
      })
    }
    signal.addEventListener('abort', () => {
      end = {}
      wake()
    })
    for (;;) {
      yield* queue.splice(0)
      if (signal.aborted) return
      if (end) throw end.error
      await new Promise<void>((r) => {
        wake = r
        if (queue.length > 0 || end) r()
      })
    }
  }
}

function ready(wanted: Wanted): Frame {
  return { type: 'ready', node: '', followed: [...wanted.follow.keys()], refused: [] }
}
