// A turn, looked into: who stopped it and how long that took, its model calls, its tools.
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { doorWord } from '../../shared/chat/words.ts'
import { duration } from '../../shared/ui/time.ts'
import { api, must, type Schemas } from '../api.ts'
import { dollars, number } from '../format.ts'
import { Ago, Dialog, Id, Loaded, StateChip } from '../ui.tsx'

export const stopPaths: Record<Schemas['StopPath'], string> = {
  same_node: 'same node',
  push: 'other node, pushed',
  poll: 'other node, polled',
  other: 'nobody ran it',
}

/** Who stopped a turn, through what, and how long that took. */
export function StopLine({ stop }: { stop: Schemas['Stop'] }) {
  const how = stop.path ? `, ${stopPaths[stop.path]}` : ''
  if (stop.detail) return <>{stop.detail.replaceAll('_', ' ')}</>
  return (
    <>
      Stopped by {stop.by.name} {doorWord(stop.door)} on {stop.node}
      {stop.tookMs !== null && `; ended ${duration(stop.tookMs)} later${how}`}
    </>
  )
}

export function RunInspector({ runId, onClose }: { runId: string; onClose: () => void }) {
  const query = useQuery({
    queryKey: ['run', runId],
    queryFn: () => must(api.GET('/runs/{runId}', { params: { path: { runId } } })),
    refetchInterval: (q) => (q.state.data && q.state.data.run.endedAt === null ? 2000 : false),
  })
  return (
    <Dialog title="Turn" onClose={onClose} wide>
      <Loaded query={query}>{(d) => <Detail {...d} />}</Loaded>
    </Dialog>
  )
}

function Detail({ run, calls, tools }: Schemas['RunDetail']) {
  return (
    <>
      <div className="flex flex-wrap items-center gap-x-4 gap-y-1 text-[13px]">
        <StateChip state={run.state} />
        <span>
          Started by {run.startedBy.name} {doorWord(run.door)}, <Ago at={run.createdAt} />
        </span>
        <span className="text-ink-2">
          {run.agentId} {run.version ? `v${run.version}` : 'draft'}
        </span>
        <Id id={run.id} />
      </div>
      {run.stop && (
        <p className="rounded-md bg-stopped-soft px-3 py-2 text-[13px]">
          <StopLine stop={run.stop} />
        </p>
      )}
      {run.error && (
        <p className="rounded-md bg-signal-soft px-3 py-2 text-[13px] text-signal">
          {run.error.message} <span className="font-mono text-[12px]">({run.error.code})</span>
        </p>
      )}
      <div>
        <h3 className="mb-2 text-[14px] font-semibold">Model calls</h3>
        {calls.length === 0 ? (
          <p className="text-[13px] text-ink-3">None was made.</p>
        ) : (
          <div className="table-box" tabIndex={0}>
            <table className="table">
              <thead>
                <tr>
                  <th>Call</th>
                  <th>Model</th>
                  <th>Status</th>
                  <th className="num">Input</th>
                  <th className="num">Output</th>
                  <th className="num">Cost</th>
                  <th className="num">First text</th>
                  <th className="num">Took</th>
                </tr>
              </thead>
              <tbody>
                {calls.map((c) => (
                  <tr key={c.call}>
                    <td>{c.call}</td>
                    <td className="font-mono text-[12px]">{c.model}</td>
                    <td>
                      <StateChip state={c.status} />
                    </td>
                    <td className="num">{number(c.usage.inputTokens)}</td>
                    <td
                      className="num"
                      title={c.usage.estimated ? 'Counted here: the provider sent no count' : undefined}
                    >
                      {c.usage.estimated && '≈ '}
                      {number(c.usage.outputTokens)}
                    </td>
                    <td className="num">{dollars(c.usage.costUsd)}</td>
                    <td className="num">{c.firstTokenMs === null ? '–' : duration(c.firstTokenMs)}</td>
                    <td className="num">{duration(c.latencyMs)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </div>
      {tools.length > 0 && (
        <div>
          <h3 className="mb-2 text-[14px] font-semibold">Tools</h3>
          <div className="table-box" tabIndex={0}>
            <table className="table">
              <thead>
                <tr>
                  <th>Tool</th>
                  <th>Source</th>
                  <th>Ended</th>
                  <th>On a stop</th>
                  <th className="num">Took</th>
                </tr>
              </thead>
              <tbody>
                {tools.map((t) => (
                  <tr key={t.callId}>
                    <td className="font-mono text-[12px]">
                      {t.name}
                      {t.childRunId && (
                        <Link to="/open/$runId" params={{ runId: t.childRunId }} className="text-link ml-2 font-sans">
                          its turn
                        </Link>
                      )}
                    </td>
                    <td>{t.source || '–'}</td>
                    <td>
                      <StateChip state={t.outcome ?? 'running'} />
                    </td>
                    <td>{t.abortable ? 'aborted' : 'runs on, result dropped'}</td>
                    <td className="num">{t.durationMs === null ? '–' : duration(t.durationMs)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </div>
      )}
    </>
  )
}
