// Refusals of the API, as one error type.

export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly param?: string | null,
    readonly runId?: string,
    readonly requestId?: string,
  ) {
    super(message)
  }

  static of(status: number, body: unknown, requestId?: string | null): Problem {
    const e = (
      body as { error?: { code?: string; message?: string; param?: string | null; run_id?: string } } | undefined
    )?.error
    const message = e?.message ?? `The server answered with status ${status}.`
    return new Problem(status, e?.code ?? 'unknown', message, e?.param, e?.run_id, requestId ?? undefined)
  }
}

/** What to tell a person about a failure of any kind. */
export function explain(e: unknown): string {
  if (e instanceof Problem) return e.message
  if (e instanceof TypeError) return 'The server can’t be reached.'
  return e instanceof Error ? e.message : String(e)
}
