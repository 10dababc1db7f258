// A portal's chat: the hosted page and the embed draw it alike.
import { useCallback, useEffect, useMemo, useState } from 'react'
import { Chat, useChat } from '../chat/Chat.tsx'
import { type ChatPlace, Place } from '../chat/context.ts'
import { ChatController } from '../chat/controller.ts'
import { explain } from '../problem.ts'
import { CrossIcon } from '../ui/icons.tsx'
import { ago } from '../ui/time.ts'
import type { Conversation, Portal, PortalClient } from './client.ts'

interface Props {
  client: PortalClient
  /** The conversation to go on with. */
  conversation?: string
  onConversation: (id: string | undefined) => void
  onTitle?: (title: string) => void
  /** Where it can be closed. */
  onClose?: () => void
}

export function PortalChat({ client, conversation, onConversation, onTitle, onClose }: Props) {
  const [portal, setPortal] = useState<Portal>()
  const [error, setError] = useState<string>()
  const [open, setOpen] = useState({ id: conversation, n: 0 })
  const [listing, setListing] = useState(false)

  const load = useCallback(() => {
    setError(undefined)
    client.config().then(
      (p) => {
        setPortal(p)
        onTitle?.(p.title)
      },
      (e: unknown) => setError(explain(e)),
    )
  }, [client, onTitle])
  useEffect(load, [load])

  const go = (id: string | undefined) => {
    setOpen((o) => ({ id, n: o.n + 1 }))
    setListing(false)
    onConversation(id)
  }

  // Nobody has named this visitor, and the portal takes no other.
  const stranger = portal !== undefined && !portal.anonymous && !client.named
  return (
    <div className="bl-portal">
      <header className="bl-portal-head">
        <h1>{portal?.title ?? ' '}</h1>
        {!stranger && (
          <>
            <button
              type="button"
              className="bl-button"
              data-quiet
              aria-expanded={listing}
              onClick={() => setListing(!listing)}
            >
              Conversations
            </button>
            <button type="button" className="bl-button" data-quiet onClick={() => go(undefined)}>
              New
            </button>
          </>
        )}
        {onClose && (
          <button type="button" className="bl-icon-button" aria-label="Close the chat" onClick={onClose}>
            <CrossIcon />
          </button>
        )}
      </header>
      {error !== undefined && (
        <div className="bl-portal-note" role="alert">
          <p>{error}</p>
          <button type="button" className="bl-button" onClick={load}>
            Try again
          </button>
        </div>
      )}
      {stranger && (
        <div className="bl-portal-note">
          <p>This chat is for people who have signed in at the site that shows it.</p>
        </div>
      )}
      {listing && <Conversations client={client} onPick={go} onClose={() => setListing(false)} />}
      {portal && !stranger && !listing && (
        <Talk
          key={open.n}
          client={client}
          portal={portal}
          conversation={open.id}
          onCreated={onConversation}
          onGone={() => go(undefined)}
        />
      )}
    </div>
  )
}

interface TalkProps {
  client: PortalClient
  portal: Portal
  conversation?: string
  onCreated: (id: string) => void
  onGone: () => void
}

function Talk({ client, portal, conversation, onCreated, onGone }: TalkProps) {
  // biome-ignore lint/correctness/useExhaustiveDependencies: one for this conversation
  const controller = useMemo(() => new ChatController({ door: client.door(), sessionId: conversation, onCreated }), [])
  useEffect(() => {
    void controller.open()
    return () => controller.close()
  }, [controller])
  const place = useMemo<ChatPlace>(
    () => ({ who: () => 'somebody', door: 'portal', mayApprove: portal.approvals, mayAnswer: true }),
    [portal],
  )
  const view = useChat(controller)
  if (view.status === 'failed' && view.chat.turns.length === 0) {
    return (
      <div className="bl-portal-note">
        <p>This conversation can’t be opened: {view.error}</p>
        <button type="button" className="bl-button" onClick={onGone}>
          Begin a new one
        </button>
      </div>
    )
  }
  return (
    <Place.Provider value={place}>
      <Chat
        controller={controller}
        stream={client.stream}
        label={portal.title}
        placeholder="Write a message"
        maxLength={portal.max_message_chars}
        empty={
          view.sessionId ? undefined : (
            <p className="bl-welcome">{portal.welcome || `This is ${portal.title}. How can it help?`}</p>
          )
        }
      />
    </Place.Provider>
  )
}

function Conversations({
  client,
  onPick,
  onClose,
}: {
  client: PortalClient
  onPick: (id: string) => void
  onClose: () => void
}) {
  const [list, setList] = useState<Conversation[]>()
  const [error, setError] = useState<string>()
  useEffect(() => {
    client.conversations().then(
      (l) => setList(l.data),
      (e: unknown) => setError(explain(e)),
    )
  }, [client])
  const now = Date.now()
  return (
    <section
      className="bl-conversations"
      aria-label="Your conversations"
      data-owns-esc
      onKeyDown={(e) => {
        if (e.key !== 'Escape') return
        e.preventDefault()
        onClose()
      }}
    >
      {error !== undefined && <p role="alert">{error}</p>}
      {!list && error === undefined && <p role="status">Loading…</p>}
      {list?.length === 0 && <p>You have no conversations yet.</p>}
      <ul>
        {list?.map((c) => (
          <li key={c.id}>
            <button type="button" onClick={() => onPick(c.id)}>
              <span>{c.title || 'Conversation'}</span>
              <small>
                {c.state === 'running'
                  ? 'answering'
                  : c.state === 'requires_action'
                    ? 'waits for you'
                    : ago(Date.parse(c.updated_at), now)}
              </small>
            </button>
          </li>
        ))}
      </ul>
    </section>
  )
}
