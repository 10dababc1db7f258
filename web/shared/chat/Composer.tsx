import { type KeyboardEvent, type Ref, useLayoutEffect, useRef } from 'react'
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

  // A hidden button is still focused here: the browser takes the focus away later.
  useLayoutEffect(() => {
    const root = stop.current?.getRootNode() as Document | ShadowRoot | undefined
    const focused = root?.activeElement
    if (view.active && !showSend && focused === send.current) stop.current?.focus()
    if (!view.active && focused === stop.current) send.current?.focus()
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
      />
      <button
        ref={send}
        type="submit"
        className="bl-send"
        aria-label="Send"
        aria-disabled={!view.draft.trim() || undefined}
        hidden={!showSend}
      >
        <SendIcon />
      </button>
    </form>
  )
}
