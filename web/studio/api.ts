// Studio's API, typed by its contract. A refusal is thrown as a Problem.
import createClient from 'openapi-fetch'
import type { components, paths } from '../shared/api/studio.gen.ts'
import { Problem } from '../shared/problem.ts'

export type Schemas = components['schemas']
export type Permission = Schemas['Permission']

export const api = createClient<paths>({ baseUrl: '/api', credentials: 'same-origin' })

interface Answer<T> {
  data?: T
  error?: unknown
  response: Response
}

/** The body of an answer, or its refusal thrown. */
export async function must<T>(answer: Promise<Answer<T>>): Promise<T> {
  const { data, error, response } = await answer
  if (!response.ok) throw Problem.of(response.status, error, response.headers.get('X-Request-Id'))
  return data as T
}
