import { type FocusEvent, type KeyboardEvent, type Ref, useLayoutEffect, useRef } from 'react'
import { SendIcon } from '../ui/icons.tsx'
import { StopButton } from '../ui/StopButton.tsx'
import type { ChatController, ChatView } from './controller.ts'

interface Props {
  controller: ChatController
  view: ChatView
  placeholder: string
  input: Ref<HTMLTextAreaElement>
  maxLength?: number
}

/**
 * The composer. Stop is there from the moment of sending until the turn's end
 * event, whatever is typed; Send and Stop hand the focus to each other.
 */
export function Composer({ controller, view, placeholder, input, maxLength }: Props) {
  const send = useRef<HTMLButtonElement>(null)
  const stop = useRef<HTMLButtonElement>(null)
  const waiting = view.turn?.phase === 'waiting' && view.outbox === undefined && !view.stopping
  const showSend = !view.active || waiting

  // A button that is hidden loses the focus, sooner or later: it is kept in mind
  // which one had it, until the person goes elsewhere.
  const had = useRef<HTMLButtonElement>(undefined)
  const track = {
    onFocus: (e: FocusEvent<HTMLButtonElement>) => {
      had.current = e.currentTarget
    },
    onBlur: (e: FocusEvent<HTMLButtonElement>) => {
      if (!e.currentTarget.hidden) had.current = undefined
    },
  }
  useLayoutEffect(() => {
    if (view.active && !showSend && had.current && had.current === send.current) stop.current?.focus()
    if (!view.active && had.current && had.current === stop.current) send.current?.focus()
  }, [view.active, showSend])

  const keys = (e: KeyboardEvent<HTMLTextAreaElement>) => {
    if (e.key !== 'Enter' || e.shiftKey || e.nativeEvent.isComposing || e.nativeEvent.keyCode === 229) return
    e.preventDefault()
    void controller.send()
  }

  return (
    <form
      className="bl-composer"
      onSubmit={(e) => {
        e.preventDefault()
        void controller.send()
      }}
    >
      <textarea
        ref={input}
        aria-label="Message"
        placeholder={placeholder}
        rows={1}
        maxLength={maxLength}
        value={view.draft}
        onChange={(e) => controller.setDraft(e.currentTarget.value)}
        onKeyDown={keys}
      />
      <StopButton
        ref={stop}
        hidden={!view.active}
        stopping={!!view.stopping}
        label="Stop the answer"
        onStop={() => void controller.stop()}
        {...track}
      />
      <button
        ref={send}
        type="submit"
        className="bl-send"
        aria-label="Send"
        aria-disabled={!view.draft.trim() || undefined}
        hidden={!showSend}
        {...track}
      >
        <SendIcon />
      </button>
    </form>
  )
}
