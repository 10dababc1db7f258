// Who did what: stops, decisions, publications, tokens.
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useMemo } from 'react'
import { api, must, type Schemas } from '../api.ts'
import { Ago, Empty, Id, Loaded, More, Page } from '../ui.tsx'
import { Choice } from './Sessions.tsx'

type Action = Schemas['AuditAction']

const words: Record<Action, string> = {
  'turn.stopped': 'Stopped a turn',
  'action.decided': 'Decided a request',
  'agent.published': 'Published an agent',
  'token.created': 'Made a token',
  'token.revoked': 'Revoked a token',
  'callback.redelivered': 'Sent a callback again',
}

export function Audit() {
  const { action } = useSearch({ from: '/shell/audit' })
  const navigate = useNavigate()
  const query = useInfiniteQuery({
    queryKey: ['audit', action],
    queryFn: ({ pageParam }) =>
      must(api.GET('/audit', { params: { query: { action: action as Action | undefined, cursor: pageParam } } })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.nextCursor ?? undefined,
    refetchInterval: 10_000,
  })
  const entries = useMemo(() => query.data?.pages.flatMap((p) => p.data) ?? [], [query.data])
  return (
    <Page
      title="Audit"
      actions={
        <Choice
          label="What"
          value={action}
          options={Object.entries(words)}
          onChange={(a) => void navigate({ to: '/audit', search: { action: a }, replace: true })}
        />
      }
    >
      <Loaded
        query={query}
        empty={() =>
          entries.length === 0 ? (
            <Empty title={action ? 'Nothing of this kind has been done' : 'Nothing has been done yet'}>
              <p>
                Stops, decisions, publications and changes of tokens are kept here, with who, from where and on which
                node.
              </p>
            </Empty>
          ) : undefined
        }
      >
        {() => (
          <div className="table-box" tabIndex={0}>
            <table className="table">
              <thead>
                <tr>
                  <th>When</th>
                  <th>Who</th>
                  <th>What</th>
                  <th>Of</th>
                  <th>Door</th>
                  <th>Node</th>
                  <th>From</th>
                </tr>
              </thead>
              <tbody>
                {entries.map((e) => (
                  <tr key={e.id}>
                    <td className="tight">
                      <Ago at={e.at} />
                    </td>
                    <td className="tight" title={e.by.id}>
                      {e.by.name}
                    </td>
                    <td>
                      {words[e.action] ?? e.action}
                      {e.detail && (
                        <span className="ml-2 text-ink-3">
                          {e.action === 'agent.published' ? `v${e.detail}` : e.detail}
                        </span>
                      )}
                    </td>
                    <td className="tight">
                      {e.runId ? (
                        <Link className="text-link" to="/open/$runId" params={{ runId: e.runId }}>
                          the session<span className="bl-hidden"> of turn {e.runId}</span>
                        </Link>
                      ) : e.subject ? (
                        <Id id={e.subject} chars={16} />
                      ) : (
                        '–'
                      )}
                    </td>
                    <td className="tight">{e.door}</td>
                    <td className="tight">{e.node}</td>
                    <td className="tight font-mono text-[12px]">{e.address ?? '–'}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </Loaded>
      <More query={query} />
    </Page>
  )
}
