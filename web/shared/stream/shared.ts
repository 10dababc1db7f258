// A stream shared with the other tabs of the browser.
import type { Link } from './client.ts'
import type { FromTab, ToTab } from './frames.ts'
import { pageLink } from './page.ts'
import { httpSource } from './source.ts'
import type { Hello } from './worker.ts'

/** Shares the stream with the other tabs, by a SharedWorker where there are any. */
export function sharedLink(url: string, headers?: Record<string, string>): Link {
  if (typeof SharedWorker === 'undefined') return pageLink(httpSource(url, headers))
  return (hear) => {
    const worker = new SharedWorker(new URL('./worker.ts', import.meta.url), {
      type: 'module',
      name: JSON.stringify({ url: new URL(url, location.href).href, headers }),
    })
    worker.port.onmessage = (e: MessageEvent<ToTab>) => hear(e.data)
    const lock = `belay-tab-${Date.now()}-${Math.random()}`
    const say = (m: FromTab | Hello) => worker.port.postMessage(m)
    addEventListener('pagehide', (e: PageTransitionEvent) => {
      if (!e.persisted) say({ type: 'bye' })
    })
    // The lock is held first, so that the hub waits for this tab's end.
    void navigator.locks?.request(lock, () => {
      say({ type: 'hello', lock })
      return new Promise(() => undefined)
    })
    return { say }
  }
}
