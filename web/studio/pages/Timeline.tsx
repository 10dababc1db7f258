// What happened in a session, event by event.
import { useVirtualizer } from '@tanstack/react-virtual'
import { useMemo, useRef } from 'react'
import { brief } from '../../shared/chat/words.ts'
import type { Event } from '../../shared/events.ts'
import { isDelta } from '../../shared/events.ts'
import type { Chat } from '../../shared/reducer.ts'
import { duration, exact } from '../../shared/ui/time.ts'
import { Empty } from '../ui.tsx'

interface Row {
  event: Event
  /** Since the turn's first event. */
  since: number
  first: boolean
}

function rowsOf(events: readonly Event[]): Row[] {
  const starts = new Map<string, number>()
  return events
    .filter((e) => !isDelta(e))
    .map((event) => {
      const at = Date.parse(event.created_at)
      const start = starts.get(event.run_id)
      if (start === undefined) starts.set(event.run_id, at)
      return { event, since: at - (start ?? at), first: start === undefined }
    })
}

/** What an event says, in a line. */
export function says(e: Event): string {
  switch (e.type) {
    case 'message':
      return `${e.data.role}: ${e.data.content.replace(/\s+/g, ' ').slice(0, 160) || (e.data.calls ?? []).map((c) => c.name).join(', ')}`
    case 'turn.started':
      return `${e.data.agent} ${e.data.version ? `v${e.data.version}` : 'draft'}, ${e.data.model}, through ${e.data.door}${e.data.background ? ', in the background' : ''}`
    case 'turn.stopping':
      return `asked for through ${e.data.door}`
    case 'turn.ended': {
      const stop = e.data.stop ? `, asked for through ${e.data.stop.door}` : ''
      return `${e.data.stop_reason ?? e.data.status}${stop}${e.data.error ? `: ${e.data.error.message}` : ''}`
    }
    case 'turn.paused':
      return `${e.data.actions.length} ${e.data.actions.length === 1 ? 'request' : 'requests'}`
    case 'tool.started':
      return `${e.data.name} ${brief(e.data.arguments)}`
    case 'tool.finished':
      return `${e.data.name}: ${e.data.outcome}, ${duration(e.data.duration_ms)}`
    case 'action.requested':
      return `${e.data.action_type} of ${e.data.name}`
    case 'action.decided':
      return e.data.state
    default:
      return ''
  }
}

function nodeOf(e: Event): string {
  if (e.type === 'turn.stopping') return e.data.node
  if (e.type === 'turn.ended') return e.data.stop?.node ?? ''
  return ''
}

export function Timeline({
  events,
  chat,
  onRun,
}: {
  events: readonly Event[]
  chat: Chat
  onRun: (runId: string) => void
}) {
  // biome-ignore lint/correctness/useExhaustiveDependencies: the events change with the chat's number
  const rows = useMemo(() => rowsOf(events), [chat.seq, chat.turns, events])
  const box = useRef<HTMLDivElement>(null)
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => 30,
    overscan: 20,
  })
  if (rows.length === 0)
    return (
      <div className="p-6">
        <Empty title="Nothing has happened yet" />
      </div>
    )
  return (
    <section ref={box} className="timeline h-full overflow-y-auto" tabIndex={0} aria-label="Timeline">
      <div style={{ height: virtual.getTotalSize(), position: 'relative' }}>
        {virtual.getVirtualItems().map((v) => {
          const row = rows[v.index]
          if (!row) return null
          const { event, since, first } = row
          return (
            <div
              key={event.seq}
              className="timeline-row"
              style={{
                position: 'absolute',
                top: 0,
                left: 0,
                right: 0,
                height: v.size,
                transform: `translateY(${v.start}px)`,
              }}
            >
              <span>{event.seq}</span>
              <span title={exact(event.created_at)}>
                {first ? new Date(event.created_at).toLocaleTimeString('en-GB') : `+${duration(since)}`}
              </span>
              <span className="font-mono text-[12px]">{event.type}</span>
              <span className="what" title={says(event)}>
                {says(event)}
              </span>
              {event.type === 'turn.ended' || event.type === 'turn.started' ? (
                <button type="button" className="text-link text-[12.5px]" onClick={() => onRun(event.run_id)}>
                  Details<span className="bl-hidden"> of turn {event.run_id}</span>
                </button>
              ) : (
                <span className="text-ink-3">{nodeOf(event)}</span>
              )}
            </div>
          )
        })}
      </div>
    </section>
  )
}
