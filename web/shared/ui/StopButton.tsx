import type { FocusEventHandler, Ref } from 'react'
import { StopIcon, StoppingIcon } from './icons.tsx'

interface Props {
  stopping: boolean
  onStop: () => void
  /** What is stopped, for who does not see it: "Stop the answer". */
  label?: string
  /** Without the word, where there is no room for it. */
  compact?: boolean
  hidden?: boolean
  ref?: Ref<HTMLButtonElement>
  onFocus?: FocusEventHandler<HTMLButtonElement>
  onBlur?: FocusEventHandler<HTMLButtonElement>
}

/** Stop, the same control everywhere. It asks nothing, and never submits a form. */
export function StopButton({ stopping, onStop, label = 'Stop', compact = false, hidden, ref, onFocus, onBlur }: Props) {
  return (
    <button
      ref={ref}
      type="button"
      className="bl-stop"
      data-stopping={stopping || undefined}
      data-compact={compact || undefined}
      aria-label={stopping ? 'Stopping…' : label}
      aria-disabled={stopping || undefined}
      title={compact ? (stopping ? 'Stopping…' : label) : undefined}
      hidden={hidden}
      onFocus={onFocus}
      onBlur={onBlur}
      onClick={() => {
        if (!stopping) onStop()
      }}
    >
      {stopping ? <StoppingIcon /> : <StopIcon />}
      {!compact && <span>{stopping ? 'Stopping…' : 'Stop'}</span>}
    </button>
  )
}
