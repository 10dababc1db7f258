// The inbox: what waits for a person.
import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useSearch } from '@tanstack/react-router'
import { type KeyboardEvent, useEffect, useMemo, useRef } from 'react'
import { ActionCard, questionOf } from '../../shared/chat/ActionCard.tsx'
import { Place } from '../../shared/chat/context.ts'
import type { Decision } from '../../shared/chat/controller.ts'
import { explain } from '../../shared/problem.ts'
import type { ActionItem } from '../../shared/reducer.ts'
import { api, must, type Schemas } from '../api.ts'
import { useNames, usePlaceFor } from '../doors.ts'
import { useInbox } from '../live.ts'
import { Ago, Empty, Loaded, More, Page, StateChip, useToast } from '../ui.tsx'

type Action = Schemas['Action']

export function Approvals() {
  const { state } = useSearch({ from: '/shell/approvals' })
  const closed = state === 'closed'
  const inbox = useInbox()
  const queries = useQueryClient()
  const query = useInfiniteQuery({
    queryKey: ['actions', closed],
    queryFn: ({ pageParam }) =>
      must(api.GET('/actions', { params: { query: { state: closed ? 'closed' : 'open', cursor: pageParam } } })),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.nextCursor ?? undefined,
  })
  // biome-ignore lint/correctness/useExhaustiveDependencies: another version is another list
  useEffect(() => {
    void queries.invalidateQueries({ queryKey: ['actions'] })
  }, [inbox?.version, queries])
  const actions = useMemo(() => query.data?.pages.flatMap((p) => p.data) ?? [], [query.data])

  return (
    <Page title="Approvals and questions">
      <nav className="tabs" aria-label="State">
        <Link className="tab" to="/approvals" search={{}} aria-current={closed ? undefined : 'page'} activeProps={{}}>
          Open <span className="count">{inbox?.open ?? query.data?.pages[0]?.open ?? ''}</span>
        </Link>
        <Link
          className="tab"
          to="/approvals"
          search={{ state: 'closed' }}
          aria-current={closed ? 'page' : undefined}
          activeProps={{}}
        >
          Decided
        </Link>
      </nav>
      <Loaded
        query={query}
        empty={() =>
          actions.length === 0 ? (
            closed ? (
              <Empty title="Nothing has been decided yet" />
            ) : (
              <Empty title="Nobody waits for you">
                <p>Calls of tools that need approval, and questions of agents, appear here by themselves.</p>
              </Empty>
            )
          ) : undefined
        }
      >
        {() => (closed ? <Decided actions={actions} /> : <Open actions={actions} />)}
      </Loaded>
      <More query={query} />
    </Page>
  )
}

function item(a: Action): ActionItem {
  return {
    kind: 'action',
    id: a.id,
    actionId: a.id,
    callId: a.callId,
    type: a.type,
    name: a.name,
    args: a.arguments,
    state: a.state,
    by: a.decidedBy?.id,
    at: a.createdAt,
  }
}

function Open({ actions }: { actions: Action[] }) {
  const queries = useQueryClient()
  const toast = useToast()
  const list = useRef<HTMLUListElement>(null)
  const place = usePlaceFor(useNames([]))

  const decide = async (actionId: string, decision: Decision) => {
    try {
      await must(api.POST('/actions/{actionId}/decision', { params: { path: { actionId } }, body: decision }))
      const verb =
        decision.decision === 'approve' ? 'Approved' : decision.decision === 'reject' ? 'Rejected' : 'Answered'
      toast(verb)
    } catch (e) {
      toast(explain(e))
      throw e
    } finally {
      await queries.invalidateQueries({ queryKey: ['actions'] })
    }
  }

  // J and K go through the list, A approves, R rejects: not while something is typed.
  const keys = (e: KeyboardEvent) => {
    const target = e.target as HTMLElement
    if (e.ctrlKey || e.metaKey || e.altKey || target.closest('input, textarea, select')) return
    const cards = [...(list.current?.querySelectorAll<HTMLElement>(':scope > li') ?? [])]
    const at = cards.findIndex((c) => c.contains(document.activeElement))
    const go = (n: number) => cards[Math.max(0, Math.min(cards.length - 1, n))]?.focus()
    if (e.key === 'j' || e.key === 'ArrowDown') go(at + 1)
    else if (e.key === 'k' || e.key === 'ArrowUp') go(at - 1)
    else if (e.key === 'a' || e.key === 'r') {
      const a = actions[at]
      if (!a?.mayDecide || a.type !== 'approval') return
      decide(a.id, { decision: e.key === 'a' ? 'approve' : 'reject' }).catch(() => undefined)
    } else return
    e.preventDefault()
  }

  return (
    <>
      <p className="mb-3 text-[13px] text-ink-3">
        <kbd>J</kbd> and <kbd>K</kbd> move, <kbd>A</kbd> approves, <kbd>R</kbd> rejects.
      </p>
      <ul ref={list} className="flex max-w-[760px] flex-col gap-4" onKeyDown={keys} aria-label="Open requests">
        {actions.map((a) => (
          <li key={a.id} tabIndex={0} className="bl-inbox-item rounded-lg" aria-label={`${a.type} of ${a.name}`}>
            <p className="mb-1 flex flex-wrap items-center gap-x-2 text-[12.5px] text-ink-3">
              <Link
                className="text-link"
                to="/agents/$agentId/sessions/$sessionId"
                params={{ agentId: a.agentId, sessionId: a.sessionId }}
              >
                {a.agentId}
              </Link>
              <span>for {a.owner.name}</span>
              <span>·</span>
              <Ago at={a.createdAt} />
              {a.expiresAt && (
                <span>
                  · expires <Ago at={a.expiresAt} />
                </span>
              )}
            </p>
            <Place value={{ ...place, mayApprove: a.mayDecide, mayAnswer: a.mayDecide }}>
              <ActionCard action={item(a)} onDecide={decide} />
            </Place>
          </li>
        ))}
      </ul>
    </>
  )
}

function Decided({ actions }: { actions: Action[] }) {
  return (
    <div className="table-box" tabIndex={0}>
      <table className="table">
        <thead>
          <tr>
            <th>Request</th>
            <th>Agent</th>
            <th>Outcome</th>
            <th>By</th>
            <th>Asked</th>
            <th>Decided</th>
          </tr>
        </thead>
        <tbody>
          {actions.map((a) => (
            <tr key={a.id}>
              <td className="clip">
                <Link
                  className="row-link"
                  to="/agents/$agentId/sessions/$sessionId"
                  params={{ agentId: a.agentId, sessionId: a.sessionId }}
                >
                  {a.type === 'question' ? questionOf({ args: a.arguments }).question : <code>{a.name}</code>}
                </Link>
                {a.answer && <span className="ml-2 text-ink-3">{a.answer}</span>}
              </td>
              <td className="tight">{a.agentId}</td>
              <td className="tight">
                <StateChip
                  state={a.state}
                  word={a.type === 'question' && a.state === 'approved' ? 'Answered' : undefined}
                />
              </td>
              <td className="tight">{a.decidedBy?.name ?? '–'}</td>
              <td className="tight">
                <Ago at={a.createdAt} />
              </td>
              <td className="tight">
                <Ago at={a.decidedAt} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
