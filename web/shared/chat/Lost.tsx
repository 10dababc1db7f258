import { useSyncExternalStore } from 'react'
import type { StreamClient } from '../stream/client.ts'
import { useNow } from '../ui/time.ts'

/** Says politely that the connection is lost, when it has been for two seconds. */
export function Lost({ stream, running }: { stream: StreamClient; running: boolean }) {
  const connection = useSyncExternalStore(stream.onChange, () => stream.connection)
  const lost = connection.state === 'lost'
  const now = useNow(1000, lost)
  if (!lost || now - connection.since < 2000) return null
  return (
    <div className="bl-lost" role="status">
      <span>Connection lost{running ? '; the agent keeps working' : ''}. Reconnecting…</span>
      <button type="button" className="bl-button" data-quiet onClick={() => stream.retry()}>
        Try now
      </button>
    </div>
  )
}
