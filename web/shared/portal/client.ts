// The chat's way to a portal: admits the visitor, and renews what has expired.
import type { components } from '../api/portal.gen.ts'
import type { Door } from '../chat/controller.ts'
import { Problem } from '../problem.ts'
import { StreamClient } from '../stream/client.ts'
import { conversationsSource } from '../stream/conversations.ts'
import { pageLink } from '../stream/page.ts'

type Schemas = components['schemas']
export type Portal = Schemas['Portal']
export type Conversation = Schemas['Conversation']

export interface PortalOptions {
  /** Origin of the Belay server; empty: that of the page. */
  origin: string
  slug: string
  /** A token that the site has signed for a named visitor. */
  token?: string
}

// A place that may refuse to keep anything, as in a page without storage.
function storage(): Storage | undefined {
  try {
    return window.localStorage
  } catch {
    return undefined
  }
}

export class PortalClient {
  readonly stream: StreamClient
  private admitted: Promise<string> | undefined
  private readonly base: string
  private readonly key: string

  constructor(private readonly options: PortalOptions) {
    this.base = `${options.origin}/api/portal/v1/${encodeURIComponent(options.slug)}`
    this.key = `belay-visitor-${options.origin}-${options.slug}`
    const url = (id: string, after: number) => `${this.base}/conversations/${id}/events?after=${after}`
    this.stream = new StreamClient(pageLink(conversationsSource(url, async () => this.auth(await this.visitor()))))
    // The visitor is not known any more: it is let in again, and the stream too.
    this.stream.onSignedOut(() => {
      this.forget()
      this.stream.reopen()
    })
  }

  /** The site has said who the visitor is. */
  get named(): boolean {
    return this.options.token !== undefined
  }

  config(): Promise<Portal> {
    return this.ask('GET', '/config')
  }

  conversations(): Promise<Schemas['ConversationList']> {
    return this.call('GET', '/conversations?limit=50')
  }

  door(): Door {
    const at = (id: string) => `/conversations/${encodeURIComponent(id)}`
    return {
      // The events themselves come by the stream, from the first one.
      page: async (id) => {
        await this.call<Conversation>('GET', at(id))
        return { events: [], nextBefore: null, followAfter: 0, toCome: true }
      },
      begin: async (content) => {
        const s = await this.call<Schemas['Sent']>('POST', '/conversations', { content })
        return { sessionId: s.conversation_id, runId: s.run_id }
      },
      send: async (id, content) => {
        const s = await this.call<Schemas['Sent']>('POST', `${at(id)}/messages`, { content })
        return { runId: s.run_id }
      },
      stop: async (id, run_id) => {
        const s = await this.call<Schemas['StopAnswer']>('POST', `${at(id)}/cancel`, run_id ? { run_id } : {})
        return { cancelled: s.cancelled, runIds: s.run_ids }
      },
      decide: async (id, decision) => {
        await this.call('POST', `/actions/${encodeURIComponent(id)}/decision`, decision)
      },
      follow: (id, after, follower) => this.stream.follow(id, after, follower),
    }
  }

  private auth(token: string): Record<string, string> {
    return { Authorization: `Bearer ${token}` }
  }

  private visitor(): Promise<string> {
    this.admitted ??= this.admit().catch((e: unknown) => {
      this.admitted = undefined
      throw e
    })
    return this.admitted
  }

  // An anonymous visitor is kept in the page's storage; a named one is let in anew.
  private async admit(): Promise<string> {
    const { token } = this.options
    if (!token) {
      const kept = this.kept()
      if (kept) return kept
    }
    const v = await this.ask<Schemas['Visitor']>('POST', '/visitors', token ? { token } : {})
    if (!token) storage()?.setItem(this.key, JSON.stringify({ token: v.token, expires_at: v.expires_at }))
    return v.token
  }

  private kept(): string | undefined {
    try {
      const v = JSON.parse(storage()?.getItem(this.key) ?? 'null') as { token: string; expires_at: string } | null
      return v && Date.parse(v.expires_at) > Date.now() + 60_000 ? v.token : undefined
    } catch {
      return undefined
    }
  }

  private forget() {
    this.admitted = undefined
    storage()?.removeItem(this.key)
  }

  private async call<T>(method: string, path: string, body?: unknown): Promise<T> {
    try {
      return await this.ask<T>(method, path, body, this.auth(await this.visitor()))
    } catch (e) {
      if (!(e instanceof Problem && e.status === 401)) throw e
      this.forget()
      return this.ask<T>(method, path, body, this.auth(await this.visitor()))
    }
  }

  private async ask<T>(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<T> {
    const res = await fetch(this.base + path, {
      method,
      headers: body === undefined ? headers : { 'Content-Type': 'application/json', ...headers },
      body: body === undefined ? undefined : JSON.stringify(body),
      credentials: 'omit',
    })
    const answer: unknown = await res.json().catch(() => undefined)
    if (!res.ok) throw Problem.of(res.status, answer, res.headers.get('X-Request-Id'))
    return answer as T
  }
}
