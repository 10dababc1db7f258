// Live operations: what runs where, what is stuck, how fast stops are.
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import { doorWord } from '../../shared/chat/words.ts'
import type { Operations } from '../../shared/stream/frames.ts'
import { clock, duration, useNow } from '../../shared/ui/time.ts'
import { api, must, type Schemas } from '../api.ts'
import { Chart } from '../Chart.tsx'
import { number } from '../format.ts'
import { useOperations } from '../live.ts'
import { StopTurn } from '../StopTurn.tsx'
import { Chip, Empty, Id, Loaded, Page, Skeleton, StateChip } from '../ui.tsx'
import { RunInspector, stopPaths } from './RunInspector.tsx'

type Slot = Schemas['Slot']

export function OperationsPage() {
  const live = useOperations()
  return (
    <Page title="Live operations">
      {live ? <Live operations={live.operations} at={live.at} /> : <Skeleton rows={6} />}
      <Latency />
      <RecentStops />
    </Page>
  )
}

function Live({ operations: o, at }: { operations: Operations; at: number }) {
  const now = useNow(1000)
  const passed = Math.max(0, now - at)
  const stuck = o.slots.filter((s) => s.stuck)
  const byNode = useMemo(() => {
    const groups = new Map<string, Slot[]>()
    for (const s of o.slots) {
      const key =
        s.node ??
        (s.state === 'queued' ? 'Queued' : s.state === 'requires_action' ? 'Waiting for a person' : 'On no node')
      groups.set(key, [...(groups.get(key) ?? []), s])
    }
    return [...groups]
  }, [o.slots])
  return (
    <>
      <dl className="panel stats">
        {(
          [
            ['Running', o.counts.running],
            ['Stopping', o.counts.stopping],
            ['Queued', o.counts.queued],
            ['Waiting for a person', o.counts.waiting],
            ['Stuck', o.counts.stuck],
          ] as const
        ).map(([word, n]) => (
          <div className="stat" key={word}>
            <dt>{word}</dt>
            <dd className={word === 'Stuck' && n > 0 ? 'danger' : undefined}>{n}</dd>
          </div>
        ))}
      </dl>

      <h2 className="section-title">Nodes</h2>
      <div className="grid gap-3 min-[700px]:grid-cols-2 min-[1100px]:grid-cols-3">
        {o.nodes.map((n) => (
          <div key={n.id} className="panel panel-pad flex items-start justify-between gap-3">
            <div>
              <p className="font-semibold">{n.name}</p>
              <p className="text-[13px] text-ink-3 tabular-nums">
                heartbeat {duration(n.heartbeatAgeMs + passed)} ago · {n.slots} {n.slots === 1 ? 'turn' : 'turns'}
              </p>
            </div>
            <StateChip state={n.state} />
          </div>
        ))}
      </div>

      {stuck.length > 0 && (
        <>
          <h2 className="section-title">Needs a look</h2>
          <Slots groups={[['', stuck]]} passed={passed} />
        </>
      )}

      <h2 className="section-title">Turns</h2>
      {o.slots.length === 0 ? (
        <Empty title="Nothing runs">
          <p>Turns that are queued, run or wait for a person appear here at once, from every door and node.</p>
        </Empty>
      ) : (
        <>
          <Slots groups={byNode} passed={passed} />
          {o.slotsLeftOut > 0 && <p className="text-ink-3">And {number(o.slotsLeftOut)} more that are younger.</p>}
        </>
      )}
    </>
  )
}

const stuckWords: Record<string, string> = {
  stopping: 'told to stop, not ended',
  node_late: 'node without heartbeat',
  node_dead: 'node is dead',
  queued: 'queued for long',
}

function Slots({ groups, passed }: { groups: [string, Slot[]][]; passed: number }) {
  return (
    <div className="table-box" tabIndex={0}>
      <table className="table">
        <thead>
          <tr>
            <th>Session</th>
            <th>Agent</th>
            <th>State</th>
            <th className="num">Age</th>
            <th>Started by</th>
            <th>Door</th>
            <th>
              <span className="bl-hidden">Stop</span>
            </th>
          </tr>
        </thead>
        {groups.map(([node, slots]) => (
          <tbody key={node}>
            {node && (
              <tr>
                <th colSpan={7} scope="rowgroup" className="!bg-sunken !text-ink-2">
                  {node}
                </th>
              </tr>
            )}
            {slots.map((s) => (
              <tr key={s.runId}>
                <td className="tight">
                  <Id id={s.sessionId} />
                </td>
                <td>
                  <Link
                    className="row-link"
                    to="/agents/$agentId/sessions/$sessionId"
                    params={{ agentId: s.agentId, sessionId: s.sessionId }}
                  >
                    {s.agentId}
                  </Link>
                </td>
                <td>
                  <StateChip state={s.state} />
                  {s.stopAgeMs !== null && (
                    <span className="ml-2 text-ink-3">for {duration(s.stopAgeMs + passed)}</span>
                  )}
                  {s.stuck && (
                    <span className="ml-2">
                      <Chip tone="failed">{stuckWords[s.stuck] ?? s.stuck}</Chip>
                    </span>
                  )}
                  {s.background && <span className="ml-2 text-ink-3">background</span>}
                </td>
                <td className="num">{clock(s.ageMs + passed)}</td>
                <td>{s.startedBy.name}</td>
                <td title={doorWord(s.door)}>{s.door}</td>
                <td className="tight">
                  {s.mayAct && (
                    <StopTurn
                      runId={s.runId}
                      stopping={s.state === 'stopping'}
                      what={`the turn of ${s.agentId}, session ${s.sessionId}`}
                    />
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        ))}
      </table>
    </div>
  )
}

const colors: Record<Schemas['StopPath'], string> = {
  same_node: '--accent',
  push: '--amber',
  poll: '--stopped',
  other: '--ink-3',
}

function Latency() {
  const query = useQuery({
    queryKey: ['stop-latency'],
    queryFn: () => must(api.GET('/operations/stop-latency')),
    refetchInterval: 5000,
  })
  return (
    <>
      <h2 className="section-title">How long stops took, last 24 hours</h2>
      <Loaded
        query={query}
        empty={(d) =>
          d.series.every((s) => s.count === 0) ? (
            <Empty title="Nothing was stopped in the last day">
              <p>Stop a turn, here or anywhere, to see how long its end took.</p>
            </Empty>
          ) : undefined
        }
      >
        {(d) => {
          const series = d.series.filter((s) => s.count > 0)
          const bounds = series[0]?.buckets ?? []
          const labels = bounds.map((b, i) => {
            const below = bounds[i - 1]?.leMs
            return b.leMs === null ? `> ${duration(below ?? 0)}` : `≤ ${duration(b.leMs)}`
          })
          return (
            <div className="grid gap-4 min-[1100px]:grid-cols-[minmax(0,3fr)_minmax(0,2fr)]">
              <Chart
                title="From a stop to the end of its turn"
                labels={labels}
                labelHead="Within"
                kind="stacked"
                format={(v) => (Number.isInteger(v) ? number(v) : '')}
                series={series.map((s) => ({
                  label: stopPaths[s.path],
                  color: colors[s.path],
                  values: s.buckets.map((b) => b.count),
                }))}
              />
              <div className="table-box self-start" tabIndex={0}>
                <table className="table">
                  <thead>
                    <tr>
                      <th>Path</th>
                      <th className="num">Stops</th>
                      <th className="num">p50</th>
                      <th className="num">p95</th>
                      <th className="num">p99</th>
                      <th className="num">Longest</th>
                    </tr>
                  </thead>
                  <tbody>
                    {d.series.map((s) => (
                      <tr key={s.path}>
                        <td className="tight">{stopPaths[s.path]}</td>
                        <td className="num">{number(s.count)}</td>
                        {[s.p50Ms, s.p95Ms, s.p99Ms, s.maxMs].map((v, i) => (
                          <td key={i} className="num">
                            {v === null ? '–' : duration(v)}
                          </td>
                        ))}
                      </tr>
                    ))}
                  </tbody>
                </table>
              </div>
            </div>
          )
        }}
      </Loaded>
    </>
  )
}

// Who stopped what.
function RecentStops() {
  const [open, setOpen] = useState<string>()
  const query = useQuery({
    queryKey: ['runs', 'stopped'],
    queryFn: () => must(api.GET('/runs', { params: { query: { state: 'cancelled', background: 'any', limit: 20 } } })),
    refetchInterval: 5000,
  })
  return (
    <>
      <h2 className="section-title">Who stopped what</h2>
      <Loaded
        query={query}
        empty={(d) => (d.data.length === 0 ? <Empty title="Nothing has been stopped yet" /> : undefined)}
      >
        {(d) => (
          <div className="table-box" tabIndex={0}>
            <table className="table">
              <thead>
                <tr>
                  <th>Stopped by</th>
                  <th>Agent</th>
                  <th>Through</th>
                  <th>Node</th>
                  <th>Path</th>
                  <th className="num">Took</th>
                  <th>When</th>
                  <th>
                    <span className="bl-hidden">Details</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {d.data.map((r) => (
                  <tr key={r.id}>
                    <td>{r.stop?.detail ? r.stop.detail.replaceAll('_', ' ') : (r.stop?.by.name ?? '–')}</td>
                    <td>
                      <Link
                        className="row-link"
                        to="/agents/$agentId/sessions/$sessionId"
                        params={{ agentId: r.agentId, sessionId: r.sessionId }}
                      >
                        {r.agentId}
                      </Link>
                    </td>
                    <td>{r.stop?.door ?? '–'}</td>
                    <td>{r.stop?.node ?? '–'}</td>
                    <td>{r.stop?.path ? stopPaths[r.stop.path] : '–'}</td>
                    <td className="num">{r.stop?.tookMs == null ? '–' : duration(r.stop.tookMs)}</td>
                    <td className="tight">{r.stop ? new Date(r.stop.at).toLocaleTimeString('en-GB') : '–'}</td>
                    <td className="tight">
                      <button type="button" className="text-link" onClick={() => setOpen(r.id)}>
                        Details<span className="bl-hidden"> of turn {r.id}</span>
                      </button>
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </Loaded>
      {open && <RunInspector runId={open} onClose={() => setOpen(undefined)} />}
    </>
  )
}
