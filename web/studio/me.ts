// Who is signed in, and what they may do.
import { queryOptions, useQuery } from '@tanstack/react-query'
import { Problem } from '../shared/problem.ts'
import { api, must, type Permission, type Schemas } from './api.ts'

export type Me = Schemas['Me']

/** Null: nobody is signed in. */
export const meQuery = queryOptions({
  queryKey: ['me'],
  queryFn: async (): Promise<Me | null> => {
    try {
      return await must(api.GET('/auth/me'))
    } catch (e) {
      if (e instanceof Problem && e.status === 401) return null
      throw e
    }
  },
  staleTime: 60_000,
})

export function useMe(): Me | null {
  return useQuery(meQuery).data ?? null
}

export function useMay(): (p: Permission) => boolean {
  const me = useMe()
  return (p) => me?.permissions.includes(p) ?? false
}
