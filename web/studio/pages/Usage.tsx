import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { duration } from '../../shared/ui/time.ts'
import { api, must, type Schemas } from '../api.ts'
import { Chart } from '../Chart.tsx'
import { compact, dollars, number, percent } from '../format.ts'
import { Empty, Loaded, Page } from '../ui.tsx'

type Row = Schemas['UsageRow']

const ranges: [number, string][] = [
  [1, 'Today'],
  [7, '7 days'],
  [30, '30 days'],
  [90, '90 days'],
]

// The start of a UTC day, so that a query is the same for all of it.
function since(days: number): string {
  const d = new Date()
  d.setUTCHours(0, 0, 0, 0)
  d.setUTCDate(d.getUTCDate() - (days - 1))
  return d.toISOString()
}

function daysOf(from: string, to: string): string[] {
  const days: string[] = []
  for (let t = Date.parse(from); t < Date.parse(to) && days.length < 400; t += 86_400_000)
    days.push(new Date(t).toISOString().slice(0, 10))
  return days
}

export function UsagePage() {
  const { days = 30 } = useSearch({ from: '/shell/usage' })
  const navigate = useNavigate()
  const from = since(days)
  const usage = (groupBy: string) => ({
    queryKey: ['usage', from, groupBy],
    queryFn: () => must(api.GET('/usage', { params: { query: { from, groupBy } } })),
  })
  const byDay = useQuery(usage('day'))
  const byAgent = useQuery(usage('agent'))
  const byModel = useQuery(usage('model'))
  const outcomes = useQuery({
    queryKey: ['outcomes', from],
    queryFn: () => must(api.GET('/usage/outcomes', { params: { query: { from } } })),
  })
  const range = (
    <select
      className="input select-small"
      aria-label="Range"
      value={days}
      onChange={(e) => void navigate({ to: '/usage', search: { days: Number(e.target.value) }, replace: true })}
    >
      {ranges.map(([n, word]) => (
        <option key={n} value={n}>
          {word}
        </option>
      ))}
    </select>
  )
  return (
    <Page title="Usage" actions={range}>
      <Loaded
        query={byDay}
        empty={(d) =>
          d.total.calls === 0 ? (
            <Empty title="No model was called in this time">
              <p>Every call appears here with its tokens and cost, also those that a stop aborted.</p>
            </Empty>
          ) : undefined
        }
      >
        {(d) => (
          <>
            <Totals total={d.total} />
            <div className="mt-4 grid gap-4 min-[1100px]:grid-cols-2">
              <Days usage={d} />
              {outcomes.data && <Outcomes outcomes={outcomes.data} />}
            </div>
          </>
        )}
      </Loaded>
      {byDay.data && byDay.data.total.calls > 0 && (
        <>
          <h2 className="section-title">By agent</h2>
          <Loaded query={byAgent}>
            {(d) => <Rows head="Agent" rows={d.data} name={(r) => r.agentId || '(deleted)'} />}
          </Loaded>
          <h2 className="section-title">By model</h2>
          <Loaded query={byModel}>{(d) => <Rows head="Model" rows={d.data} name={(r) => r.model ?? ''} />}</Loaded>
        </>
      )}
    </Page>
  )
}

function Totals({ total }: { total: Schemas['UsageFigures'] }) {
  return (
    <dl className="panel stats">
      <div className="stat">
        <dt>Cost</dt>
        <dd>{dollars(total.costUsd)}</dd>
      </div>
      <div className="stat">
        <dt>In stopped calls</dt>
        <dd>{percent(total.cancelledCostUsd, total.costUsd)}</dd>
      </div>
      <div className="stat">
        <dt>Model calls</dt>
        <dd>{number(total.calls)}</dd>
      </div>
      <div className="stat">
        <dt>Stopped calls</dt>
        <dd>{percent(total.cancelledCalls, total.calls)}</dd>
      </div>
      <div className="stat">
        <dt>Input tokens</dt>
        <dd>{compact(total.inputTokens)}</dd>
      </div>
      <div className="stat">
        <dt>Output tokens</dt>
        <dd>{compact(total.outputTokens)}</dd>
      </div>
      <div className="stat">
        <dt>First text, median</dt>
        <dd>{total.firstTokenP50Ms === null ? '–' : duration(total.firstTokenP50Ms)}</dd>
      </div>
    </dl>
  )
}

function Days({ usage }: { usage: Schemas['Usage'] }) {
  const days = daysOf(usage.from, usage.to)
  const rows = new Map(usage.data.map((r) => [r.day, r]))
  const of = (f: (r: Row) => number) =>
    days.map((d) => {
      const r = rows.get(d)
      return r ? f(r) : 0
    })
  const known = (f: (r: Row) => number | null) =>
    days.map((d) => {
      const r = rows.get(d)
      return r ? f(r) : null
    })
  const labels = days.map(dayWord)
  return (
    <>
      <Chart
        title="Cost by day"
        note="stopped: spent in calls that a stop aborted"
        labels={labels}
        kind="stacked"
        format={dollars}
        series={[
          { label: 'Finished calls', color: '--accent', values: of((r) => r.costUsd - r.cancelledCostUsd) },
          { label: 'Stopped calls', color: '--stopped', values: of((r) => r.cancelledCostUsd) },
        ]}
      />
      <Chart
        title="Tokens by day"
        labels={labels}
        kind="stacked"
        format={compact}
        series={[
          { label: 'Input', color: '--accent', values: of((r) => r.inputTokens) },
          { label: 'Output', color: '--amber', values: of((r) => r.outputTokens) },
        ]}
      />
      <Chart
        title="Share of stopped calls"
        labels={labels}
        format={(v) => `${Math.round(v)} %`}
        series={[
          {
            label: 'Stopped calls',
            color: '--stopped',
            values: known((r) => (r.calls ? (r.cancelledCalls / r.calls) * 100 : null)),
          },
        ]}
      />
      <Chart
        title="Time to first text"
        labels={labels}
        kind="lines"
        format={duration}
        series={[
          { label: 'Median', color: '--accent', values: known((r) => r.firstTokenP50Ms) },
          { label: '95th percentile', color: '--amber', values: known((r) => r.firstTokenP95Ms) },
        ]}
      />
    </>
  )
}

function dayWord(day: string): string {
  return new Date(`${day}T00:00:00Z`).toLocaleDateString('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' })
}

const kinds: [Schemas['OutcomeRow']['outcome'], string, string][] = [
  ['completed', 'Finished', '--accent'],
  ['cancelled', 'Stopped', '--stopped'],
  ['limited', 'At a limit', '--amber'],
  ['failed', 'Failed', '--signal'],
  ['lost', 'Node lost', '--ink'],
]

function Outcomes({ outcomes }: { outcomes: Schemas['OutcomeList'] }) {
  const days = daysOf(outcomes.from, outcomes.to)
  const turns = new Map(outcomes.data.map((r) => [`${r.day} ${r.outcome}`, r.turns]))
  return (
    <Chart
      title="Turns by outcome"
      labels={days.map(dayWord)}
      kind="stacked"
      format={number}
      series={kinds.map(([outcome, label, color]) => ({
        label,
        color,
        values: days.map((d) => turns.get(`${d} ${outcome}`) ?? 0),
      }))}
    />
  )
}

function Rows({ head, rows, name }: { head: string; rows: Row[]; name: (r: Row) => string }) {
  return (
    <div className="table-box" tabIndex={0}>
      <table className="table">
        <thead>
          <tr>
            <th>{head}</th>
            <th className="num">Calls</th>
            <th className="num">Stopped</th>
            <th className="num">Failed</th>
            <th className="num">Input</th>
            <th className="num">Output</th>
            <th className="num">Cost</th>
            <th className="num">In stopped calls</th>
            <th className="num">First text p50 / p95</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((r) => (
            <tr key={name(r)}>
              <td className="font-medium">{name(r)}</td>
              <td className="num">{number(r.calls)}</td>
              <td className="num">{percent(r.cancelledCalls, r.calls)}</td>
              <td className="num">{percent(r.errorCalls, r.calls)}</td>
              <td className="num">{compact(r.inputTokens)}</td>
              <td
                className="num"
                title={
                  r.estimatedCalls
                    ? `${r.estimatedCalls} calls were counted here: the provider sent no count`
                    : undefined
                }
              >
                {r.estimatedCalls > 0 && '≈ '}
                {compact(r.outputTokens)}
              </td>
              <td className="num">{dollars(r.costUsd)}</td>
              <td className="num">{percent(r.cancelledCostUsd, r.costUsd)}</td>
              <td className="num">
                {r.firstTokenP50Ms === null ? '–' : duration(r.firstTokenP50Ms)} /{' '}
                {r.firstTokenP95Ms === null ? '–' : duration(r.firstTokenP95Ms)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
