// The icons that the chat draws, so that the embed needs no icon package.
import type { ReactNode } from 'react'

function Icon({ children, size = 16 }: { children: ReactNode; size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.6"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      {children}
    </svg>
  )
}

export const SendIcon = () => (
  <Icon>
    <path d="M8 13V3M3.5 7.5 8 3l4.5 4.5" />
  </Icon>
)

/** The sign of Stop everywhere: a filled square in a circle. */
export const StopIcon = ({ size = 18 }: { size?: number }) => (
  <svg width={size} height={size} viewBox="0 0 18 18" aria-hidden="true">
    <circle cx="9" cy="9" r="8" fill="none" stroke="currentColor" strokeWidth="1.6" />
    <rect x="6" y="6" width="6" height="6" rx="0.8" fill="currentColor" />
  </svg>
)

export const StoppingIcon = ({ size = 18 }: { size?: number }) => (
  <svg className="bl-turning" width={size} height={size} viewBox="0 0 18 18" aria-hidden="true">
    <circle cx="9" cy="9" r="8" fill="none" stroke="currentColor" strokeOpacity="0.25" strokeWidth="1.6" />
    <path d="M9 1a8 8 0 0 1 8 8" fill="none" stroke="currentColor" strokeWidth="1.8" strokeLinecap="round" />
    <rect className="bl-still" x="6" y="6" width="6" height="6" rx="0.8" fill="currentColor" />
  </svg>
)

export const CheckIcon = () => (
  <Icon>
    <path d="m3.5 8.5 3 3 6-7" />
  </Icon>
)

export const CrossIcon = () => (
  <Icon>
    <path d="m4 4 8 8M12 4l-8 8" />
  </Icon>
)

export const ChevronIcon = () => (
  <Icon>
    <path d="m6 3.5 4.5 4.5L6 12.5" />
  </Icon>
)

export const DownIcon = () => (
  <Icon>
    <path d="M8 3v10M3.5 8.5 8 13l4.5-4.5" />
  </Icon>
)

export const HandIcon = () => (
  <Icon>
    <path d="M8 2.5v6M8 11.8v.2" />
    <circle cx="8" cy="8" r="6.5" />
  </Icon>
)

export const QuestionIcon = () => (
  <Icon>
    <circle cx="8" cy="8" r="6.5" />
    <path d="M6.2 6.2a1.9 1.9 0 1 1 2.6 1.9c-.5.2-.8.6-.8 1.1M8 11.4v.1" />
  </Icon>
)

export const ToolIcon = () => (
  <Icon>
    <path d="M9.8 6.2a3.2 3.2 0 0 1 4-4L11.7 4.3l.2 1.6 1.6.2 2-2" transform="translate(-1.6 .2)" />
    <path d="m8.6 7.4-5.4 5.4" />
  </Icon>
)

export const StoppedIcon = () => (
  <Icon>
    <circle cx="8" cy="8" r="6.5" />
    <path d="M6 6h4v4H6z" fill="currentColor" />
  </Icon>
)

export const ErrorIcon = () => (
  <Icon>
    <path d="M8 2 14.5 13.5h-13zM8 6.5v3M8 11.6v.1" />
  </Icon>
)

export const DotIcon = () => (
  <svg className="bl-pulse" width="16" height="16" viewBox="0 0 16 16" aria-hidden="true">
    <circle cx="8" cy="8" r="4" fill="currentColor" />
  </svg>
)
