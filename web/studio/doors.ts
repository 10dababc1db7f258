// The chat's way to Studio's API.
import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { ChatPlace } from '../shared/chat/context.ts'
import type { Door } from '../shared/chat/controller.ts'
import type { Event } from '../shared/events.ts'
import { api, must } from './api.ts'
import { stream } from './live.ts'
import { useMay, useMe } from './me.ts'

export interface SendOptions {
  draft?: boolean
  version?: number
}

/** A session of an agent. beforeSend runs first: the playground saves its draft there. */
export function studioDoor(
  agentId: string,
  options: () => SendOptions = () => ({}),
  beforeSend?: () => Promise<void>,
): Door {
  const path = (sessionId: string) => ({ agentId, sessionId })
  return {
    async page(sessionId, before) {
      const t = await must(
        api.GET('/agents/{agentId}/sessions/{sessionId}/transcript', {
          params: { path: path(sessionId), query: { before, limit: 500 } },
        }),
      )
      return { events: t.data as Event[], nextBefore: t.nextBefore, followAfter: t.followAfter }
    },
    async create() {
      const s = await must(api.POST('/agents/{agentId}/sessions', { params: { path: { agentId } }, body: {} }))
      return s.id
    },
    async send(sessionId, content) {
      await beforeSend?.()
      return must(
        api.POST('/agents/{agentId}/sessions/{sessionId}/messages', {
          params: { path: path(sessionId) },
          body: { content, ...options() },
        }),
      )
    },
    stop: (sessionId, runId) =>
      must(
        api.POST('/agents/{agentId}/sessions/{sessionId}/cancel', {
          params: { path: path(sessionId) },
          body: runId ? { runId } : {},
        }),
      ),
    async decide(actionId, decision) {
      await must(api.POST('/actions/{actionId}/decision', { params: { path: { actionId } }, body: decision }))
    },
    follow: (sessionId, after, follower) => stream().follow(sessionId, after, follower),
  }
}

/** Names of principals; their ids until they are known. */
export function useNames(ids: string[]): (id: string) => string {
  const me = useMe()
  const wanted = [...new Set(ids)]
    .filter((id) => id && id !== me?.user.id)
    .sort()
    .slice(0, 100)
  const { data } = useQuery({
    queryKey: ['actors', wanted],
    queryFn: () => must(api.GET('/actors', { params: { query: { ids: wanted.join(',') } } })),
    enabled: wanted.length > 0,
    staleTime: 600_000,
    placeholderData: (before) => before,
  })
  return useMemo(() => {
    const names = new Map((data?.data ?? []).map((a) => [a.id, a.name]))
    if (me) names.set(me.user.id, 'you')
    return (id) => names.get(id) ?? id
  }, [data, me])
}

/** What a chat on a Studio page needs to know. */
export function usePlaceFor(names: (id: string) => string): ChatPlace {
  const me = useMe()
  const may = useMay()
  const mayApprove = may('agent.approve')
  return useMemo(
    () => ({
      who: names,
      me: me?.user.id,
      door: 'studio',
      mayApprove,
      mayAnswer: true,
      childHref: (runId: string) => `/studio/open/${runId}`,
    }),
    [names, me, mayApprove],
  )
}
