import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useMemo } from 'react'
import { doorWord } from '../../shared/chat/words.ts'
import { clock, useNow } from '../../shared/ui/time.ts'
import { api, must, type Schemas } from '../api.ts'
import { useIds, useStates } from '../live.ts'
import { useMay } from '../me.ts'
import type { SessionFilter } from '../router.tsx'
import { StopTurn } from '../StopTurn.tsx'
import { Ago, Button, Empty, LastEnd, Loaded, More, Page, StateChip } from '../ui.tsx'
import { agentsQuery } from './Agents.tsx'

type Session = Schemas['Session']

const filters: { key: keyof SessionFilter; label: string; options: [string, string][] }[] = [
  {
    key: 'state',
    label: 'State',
    options: [
      ['running', 'Running'],
      ['stopping', 'Stopping'],
      ['requires_action', 'Waits for a person'],
      ['queued', 'Queued'],
      ['idle', 'Idle'],
    ],
  },
  {
    key: 'door',
    label: 'Door',
    options: ['studio', 'portal', 'client', 'responses', 'chat', 'assistants', 'a2a'].map((d) => [d, d]),
  },
  { key: 'owner', label: 'Owner', options: [['me', 'Mine']] },
  {
    key: 'stopReason',
    label: 'Last end',
    options: [
      ['cancelled', 'Stopped'],
      ['limit', 'At its limit'],
    ],
  },
]

export function Sessions() {
  const filter = useSearch({ from: '/shell/sessions' })
  const navigate = useNavigate()
  const may = useMay()
  const agents = useQuery({ ...agentsQuery, enabled: may('agent.view') })
  const query = useInfiniteQuery({
    queryKey: ['sessions', filter],
    queryFn: ({ pageParam }) =>
      must(
        api.GET('/sessions', {
          params: {
            query: {
              agentId: filter.agent,
              state: filter.state as Session['state'] | undefined,
              door: filter.door as Session['door'] | undefined,
              owner: filter.owner,
              stopReason: filter.stopReason as Schemas['StopReason'] | undefined,
              cursor: pageParam,
            },
          },
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.nextCursor ?? undefined,
    refetchInterval: 15_000,
  })
  const sessions = useMemo(() => query.data?.pages.flatMap((p) => p.data), [query.data])
  const set = (change: Partial<SessionFilter>) =>
    void navigate({ to: '/sessions', search: { ...filter, ...change }, replace: true })
  const filtered = Object.values(filter).some(Boolean)

  return (
    <Page title="Sessions">
      <div className="mb-4 flex flex-wrap items-center gap-2">
        <Choice
          label="Agent"
          value={filter.agent}
          options={(agents.data?.data ?? []).map((a) => [a.id, a.name || a.id])}
          onChange={(agent) => set({ agent })}
        />
        {filters.map((f) => (
          <Choice
            key={f.key}
            label={f.label}
            value={filter[f.key]}
            options={f.options}
            onChange={(v) => set({ [f.key]: v })}
          />
        ))}
        {filtered && (
          <Button quiet onClick={() => void navigate({ to: '/sessions', search: {}, replace: true })}>
            Clear filters
          </Button>
        )}
      </div>
      <Loaded
        query={query}
        empty={() =>
          sessions?.length === 0 ? (
            filtered ? (
              <Empty title="No session fits these filters" />
            ) : (
              <Empty title="No sessions yet">
                <p>
                  Begin one from{' '}
                  <Link className="text-link" to="/agents">
                    an agent
                  </Link>
                  , or over the API.
                </p>
              </Empty>
            )
          ) : undefined
        }
      >
        {() => <Table sessions={sessions ?? []} />}
      </Loaded>
      <More query={query} />
    </Page>
  )
}

interface ChoiceProps {
  label: string
  value: string | undefined
  options: [string, string][]
  onChange: (value: string | undefined) => void
}

export function Choice({ label, value, options, onChange }: ChoiceProps) {
  return (
    <select
      className="input select-small"
      aria-label={label}
      value={value ?? ''}
      onChange={(e) => onChange(e.target.value || undefined)}
    >
      <option value="">{label}: all</option>
      {options.map(([v, word]) => (
        <option key={v} value={v}>
          {word}
        </option>
      ))}
    </select>
  )
}

function Table({ sessions }: { sessions: Session[] }) {
  const states = useStates(useIds(sessions.slice(0, 100), (s) => s.id))
  const now = useNow(
    1000,
    sessions.some((s) => s.run),
  )
  return (
    <div className="table-box" tabIndex={0}>
      <table className="table">
        <thead>
          <tr>
            <th>Session</th>
            <th>Agent</th>
            <th>State</th>
            <th>Last end</th>
            <th>Owner</th>
            <th>Door</th>
            <th>Active</th>
            <th>
              <span className="bl-hidden">Stop</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {sessions.map((s) => {
            const live = states.get(s.id)
            const state = live?.state ?? s.state
            const runId = live ? live.runId : (s.run?.id ?? null)
            const running = state === 'running' || state === 'stopping' || state === 'queued'
            return (
              <tr key={s.id}>
                <td className="clip">
                  <Link
                    className="row-link"
                    to="/agents/$agentId/sessions/$sessionId"
                    params={{ agentId: s.agentId, sessionId: s.id }}
                  >
                    {s.title || s.preview || 'Nothing in it yet'}
                  </Link>
                </td>
                <td className="tight">{s.agentId}</td>
                <td className="tight">
                  <StateChip state={state} />
                  {running && s.run && s.run.id === runId && (
                    <span className="ml-2 text-ink-3">{clock(now - Date.parse(s.run.startedAt))}</span>
                  )}
                </td>
                <td className="tight">
                  {state === 'idle' && (
                    <LastEnd
                      status={live?.lastStatus ?? s.lastStatus}
                      reason={live ? live.lastStopReason : s.lastStopReason}
                    />
                  )}
                </td>
                <td className="tight" title={s.owner.id}>
                  {s.owner.name}
                </td>
                <td className="tight" title={doorWord(s.door)}>
                  {s.door}
                </td>
                <td className="tight">
                  <Ago at={live?.updatedAt ?? s.updatedAt} />
                </td>
                <td className="tight">
                  {runId && s.mayAct && state !== 'idle' && (
                    <StopTurn runId={runId} stopping={state === 'stopping'} what={s.title || s.preview || s.id} />
                  )}
                </td>
              </tr>
            )
          })}
        </tbody>
      </table>
    </div>
  )
}
