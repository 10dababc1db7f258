// The hub of all tabs, in a SharedWorker. The stream's address is its name.
/// <reference lib="webworker" />
import type { FromTab } from './frames.ts'
import { Hub } from './hub.ts'
import { httpSource } from './source.ts'

export type Hello = { type: 'hello'; lock: string }

const scope = self as unknown as SharedWorkerGlobalScope
const { url, headers } = JSON.parse(scope.name) as { url: string; headers?: Record<string, string> }
const hub = new Hub(httpSource(url, headers))

scope.onconnect = (connect) => {
  const port = connect.ports[0]
  if (!port) return
  const tab = hub.join((m) => port.postMessage(m))
  port.onmessage = (e: MessageEvent<FromTab | Hello>) => {
    if (e.data.type === 'hello') whenGone(e.data.lock, () => tab.say({ type: 'bye' }))
    else tab.say(e.data)
  }
}

// A tab holds a lock for as long as it lives, however it ends.
function whenGone(lock: string, gone: () => void) {
  void navigator.locks?.request(lock, gone)
}
