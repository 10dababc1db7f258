import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { MessageSquare } from 'lucide-react'
import { api, must } from '../api.ts'
import { useMay } from '../me.ts'
import { Ago, Button, Chip, Empty, Loaded, Page, StateChip } from '../ui.tsx'

export const agentsQuery = { queryKey: ['agents'], queryFn: () => must(api.GET('/agents')) }

export function Agents() {
  const query = useQuery(agentsQuery)
  const may = useMay()
  const navigate = useNavigate()
  const make = may('agent.manage') && (
    <Button primary onClick={() => void navigate({ to: '/agents/new' })}>
      New agent
    </Button>
  )
  return (
    <Page title="Agents" actions={make}>
      <Loaded
        query={query}
        empty={(d) =>
          d.data.length === 0 ? (
            <Empty title="No agents yet" command="belay apply -f belay.yaml">
              <p>Make one here, or describe it in a file and apply that.</p>
            </Empty>
          ) : undefined
        }
      >
        {({ data }) => (
          <div className="table-box">
            <table className="table">
              <thead>
                <tr>
                  <th>Agent</th>
                  <th>Status</th>
                  <th>Published</th>
                  <th className="extra">Model</th>
                  <th className="extra">Tools</th>
                  <th className="extra">Changed</th>
                  <th>
                    <span className="bl-hidden">Actions</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {data.map((a) => (
                  <tr key={a.id}>
                    <td>
                      <Link className="row-link" to="/agents/$agentId" params={{ agentId: a.id }}>
                        {a.name || a.id}
                      </Link>
                      {a.name && a.name !== a.id && (
                        <span className="ml-2 font-mono text-[12px] text-ink-3">{a.id}</span>
                      )}
                    </td>
                    <td className="tight">
                      <StateChip state={a.status} />
                    </td>
                    <td className="tight">
                      {a.publishedVersion === null ? (
                        <span className="text-ink-3">never</span>
                      ) : (
                        <>
                          v{a.publishedVersion}
                          {a.draftChanged && (
                            <span className="ml-2">
                              <Chip tone="waiting">Draft differs</Chip>
                            </span>
                          )}
                        </>
                      )}
                    </td>
                    <td className="extra font-mono text-[12px]">{a.config.model}</td>
                    <td className="extra text-ink-2">{(a.config.tools ?? []).map((t) => t.key).join(', ') || '–'}</td>
                    <td className="extra tight">
                      <Ago at={a.updatedAt} />
                    </td>
                    <td className="tight text-right">
                      {may('agent.run') &&
                        a.status === 'active' &&
                        (a.publishedVersion !== null || may('agent.manage')) && (
                          <Button
                            onClick={() => void navigate({ to: '/agents/$agentId/chat', params: { agentId: a.id } })}
                          >
                            <MessageSquare size={14} aria-hidden="true" />
                            Chat<span className="bl-hidden"> with {a.name || a.id}</span>
                          </Button>
                        )}
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </Loaded>
    </Page>
  )
}
