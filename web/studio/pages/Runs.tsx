// Background runs: what is queued, what runs, how each ended.
import { useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import { explain } from '../../shared/problem.ts'
import { duration } from '../../shared/ui/time.ts'
import { api, must, type Schemas } from '../api.ts'
import { dollars, number } from '../format.ts'
import { useMay } from '../me.ts'
import { StopTurn } from '../StopTurn.tsx'
import { Ago, Button, Dialog, Empty, Id, Loaded, More, Page, StateChip, useToast } from '../ui.tsx'
import { agentsQuery } from './Agents.tsx'
import { RunInspector } from './RunInspector.tsx'
import { Choice } from './Sessions.tsx'

type Run = Schemas['Run']
type State = Schemas['RunState']

const tabs: [State | '', string][] = [
  ['', 'All'],
  ['queued', 'Queued'],
  ['running', 'Running'],
  ['stopping', 'Stopping'],
  ['requires_action', 'Waiting'],
  ['completed', 'Finished'],
  ['cancelled', 'Stopped'],
  ['limited', 'At a limit'],
  ['failed', 'Failed'],
]

const stoppable = (r: Run) => r.mayAct && ['queued', 'running', 'requires_action'].includes(r.state)

export function Runs() {
  const search = useSearch({ from: '/shell/runs' })
  const navigate = useNavigate()
  const may = useMay()
  const agents = useQuery({ ...agentsQuery, enabled: may('agent.view') })
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const [cancelling, setCancelling] = useState<Run[]>()
  const [open, setOpen] = useState<string>()
  const query = useInfiniteQuery({
    queryKey: ['runs', search],
    queryFn: ({ pageParam }) =>
      must(
        api.GET('/runs', {
          params: { query: { agentId: search.agent, state: search.state as State | undefined, cursor: pageParam } },
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.nextCursor ?? undefined,
    refetchInterval: 3000,
  })
  const runs = useMemo(() => query.data?.pages.flatMap((p) => p.data) ?? [], [query.data])
  const counts = query.data?.pages[0]?.counts ?? {}
  const picked = runs.filter((r) => chosen.has(r.id) && stoppable(r))
  const total = Object.values(counts).reduce((a, b) => a + b, 0)

  const pick = (id: string, on: boolean) =>
    setChosen((s) => {
      const next = new Set(s)
      if (on) next.add(id)
      else next.delete(id)
      return next
    })
  const all = runs.filter(stoppable)

  return (
    <Page
      title="Background runs"
      actions={
        <>
          <Choice
            label="Agent"
            value={search.agent}
            options={(agents.data?.data ?? []).map((a) => [a.id, a.name || a.id])}
            onChange={(agent) => void navigate({ to: '/runs', search: { ...search, agent }, replace: true })}
          />
          <Button className="bl-button stop-many" disabled={picked.length === 0} onClick={() => setCancelling(picked)}>
            Stop {picked.length > 0 ? picked.length : ''} selected
          </Button>
        </>
      }
    >
      <nav className="tabs" aria-label="State">
        {tabs.map(([state, word]) => (
          <Link
            key={state}
            className="tab"
            to="/runs"
            search={{ ...search, state: state || undefined }}
            aria-current={(search.state ?? '') === state ? 'page' : undefined}
            activeProps={{}}
          >
            {word}
            <span className="count">{state === '' ? total : (counts[state] ?? 0)}</span>
          </Link>
        ))}
      </nav>
      <Loaded
        query={query}
        empty={() =>
          runs.length === 0 ? (
            search.state || search.agent ? (
              <Empty title="No run is in this state" />
            ) : (
              <Empty
                title="No background runs yet"
                command={
                  'curl $BELAY/api/client/v1/agents/responses -H "Authorization: Bearer $TOKEN" -d \'{"model": "demo", "input": "Hello", "background": true}\''
                }
              >
                <p>
                  Ask an agent with "background": true; any node runs it, and the answer is read later or called back.
                </p>
              </Empty>
            )
          ) : undefined
        }
      >
        {() => (
          <div className="table-box" tabIndex={0}>
            <table className="table">
              <thead>
                <tr>
                  <th className="tight">
                    <input
                      type="checkbox"
                      aria-label="Select all that can be stopped"
                      disabled={all.length === 0}
                      checked={all.length > 0 && all.every((r) => chosen.has(r.id))}
                      onChange={(e) => setChosen(new Set(e.target.checked ? all.map((r) => r.id) : []))}
                    />
                  </th>
                  <th>Run</th>
                  <th>Agent</th>
                  <th>State</th>
                  <th>Started by</th>
                  <th>Asked for</th>
                  <th>Callback</th>
                  <th className="num">Took</th>
                  <th className="num">Output</th>
                  <th className="num">Cost</th>
                  <th>
                    <span className="bl-hidden">Actions</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {runs.map((r) => (
                  <tr key={r.id}>
                    <td className="tight">
                      <input
                        type="checkbox"
                        aria-label={`Select run ${r.id}`}
                        disabled={!stoppable(r)}
                        checked={chosen.has(r.id) && stoppable(r)}
                        onChange={(e) => pick(r.id, e.target.checked)}
                      />
                    </td>
                    <td className="tight">
                      <Id id={r.id} />
                    </td>
                    <td>
                      <Link
                        className="row-link"
                        to="/agents/$agentId/sessions/$sessionId"
                        params={{ agentId: r.agentId, sessionId: r.sessionId }}
                      >
                        {r.agentId}
                      </Link>
                    </td>
                    <td>
                      <StateChip state={r.state} />
                      {r.stop && r.state === 'cancelled' && (
                        <span className="ml-2 whitespace-nowrap text-[12.5px] text-ink-3">
                          <StopWord stop={r.stop} />
                        </span>
                      )}
                      {r.error && (
                        <span className="ml-2 text-[12.5px] text-ink-3" title={r.error.message}>
                          {r.error.code}
                        </span>
                      )}
                    </td>
                    <td>{r.startedBy.name}</td>
                    <td className="tight">
                      <Ago at={r.createdAt} />
                    </td>
                    <td className="tight">{r.callback ? <CallbackState run={r} /> : '–'}</td>
                    <td className="num">
                      {r.startedAt && r.endedAt ? duration(Date.parse(r.endedAt) - Date.parse(r.startedAt)) : '–'}
                    </td>
                    <td className="num">{number(r.usage.outputTokens)}</td>
                    <td className="num">{dollars(r.usage.costUsd)}</td>
                    <td className="tight text-right">
                      <span className="inline-flex items-center gap-2">
                        {r.mayAct && r.endedAt === null && (
                          <StopTurn runId={r.id} stopping={r.state === 'stopping'} what={`run ${r.id}`} />
                        )}
                        <Button quiet onClick={() => setOpen(r.id)}>
                          Details<span className="bl-hidden"> of run {r.id}</span>
                        </Button>
                      </span>
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </Loaded>
      <More query={query} />
      {open && <RunInspector runId={open} onClose={() => setOpen(undefined)} />}
      {cancelling && (
        <BulkStop
          runs={cancelling}
          onClose={() => {
            setCancelling(undefined)
            setChosen(new Set())
          }}
        />
      )}
    </Page>
  )
}

// Short: the details have the rest.
function StopWord({ stop }: { stop: Schemas['Stop'] }) {
  if (stop.detail) return <>{stop.detail.replaceAll('_', ' ')}</>
  return (
    <>
      by {stop.by.name}
      {stop.tookMs !== null && `, in ${duration(stop.tookMs)}`}
    </>
  )
}

const callbackWords = { pending: 'On its way', delivered: 'Delivered', dead: 'Given up' }

function CallbackState({ run }: { run: Run }) {
  const queries = useQueryClient()
  const toast = useToast()
  const c = run.callback
  if (!c) return null
  const again = async () => {
    try {
      await must(api.POST('/runs/{runId}/redeliver', { params: { path: { runId: run.id } } }))
      toast('The callback is sent again')
    } catch (e) {
      toast(explain(e))
    }
    await queries.invalidateQueries({ queryKey: ['runs'] })
  }
  return (
    <span
      className="inline-flex items-center gap-1"
      title={`${c.url}, ${c.attempts} ${c.attempts === 1 ? 'attempt' : 'attempts'}`}
    >
      <StateChip
        state={c.status === 'dead' ? 'failed' : c.status === 'pending' ? 'queued' : 'completed'}
        word={callbackWords[c.status]}
      />
      {c.status !== 'pending' && run.mayAct && (
        <Button quiet onClick={() => void again()}>
          Send again<span className="bl-hidden"> the callback of run {run.id}</span>
        </Button>
      )}
    </span>
  )
}

type Result = 'waiting' | 'stopped' | 'ended' | { failed: string }

function BulkStop({ runs, onClose }: { runs: Run[]; onClose: () => void }) {
  const queries = useQueryClient()
  const [results, setResults] = useState<ReadonlyMap<string, Result>>()
  const go = async () => {
    setResults(new Map(runs.map((r) => [r.id, 'waiting'])))
    await Promise.all(
      runs.map(async (r) => {
        const result: Result = await must(
          api.POST('/runs/{runId}/cancel', { params: { path: { runId: r.id } }, body: {} }),
        ).then(
          (a) => (a.cancelled ? ('stopped' as const) : ('ended' as const)),
          (e: unknown) => ({ failed: explain(e) }),
        )
        setResults((m) => new Map(m).set(r.id, result))
      }),
    )
    void queries.invalidateQueries({ queryKey: ['runs'] })
  }
  const count = `${runs.length} ${runs.length === 1 ? 'run' : 'runs'}`
  const done = results && [...results.values()].every((r) => r !== 'waiting')
  return (
    <Dialog title={`Stop ${count}?`} onClose={onClose}>
      {!results && (
        <p>
          Queued ones never start; running ones keep what they have written. What a tool has done already is not undone.
        </p>
      )}
      {results && (
        <ul className="flex max-h-72 flex-col gap-1 overflow-y-auto text-[13px]" aria-live="polite">
          {runs.map((r) => (
            <li key={r.id} className="flex items-center gap-3">
              <span className="font-mono text-[12px]" title={r.id}>
                {r.id.slice(0, 4)}…{r.id.slice(-4)}
              </span>
              <span className="text-ink-2">{r.agentId}</span>
              <span className="ml-auto">{word(results.get(r.id))}</span>
            </li>
          ))}
        </ul>
      )}
      <div className="dialog-foot">
        {done ? (
          <Button primary onClick={onClose}>
            Done
          </Button>
        ) : (
          <>
            <Button onClick={onClose}>Cancel</Button>
            <Button className="bl-button stop-many" disabled={!!results} onClick={go}>
              Stop {count}
            </Button>
          </>
        )}
      </div>
    </Dialog>
  )
}

function word(r: Result | undefined): string {
  if (r === undefined || r === 'waiting') return '…'
  if (r === 'stopped') return 'Told to stop'
  if (r === 'ended') return 'Had ended already'
  return `Not stopped: ${r.failed}`
}
