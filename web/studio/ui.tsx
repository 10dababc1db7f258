// The parts that Studio's pages are made of.
import type { UseQueryResult } from '@tanstack/react-query'
import { Check, CircleAlert, CircleDashed, Clock, Copy, Hand, Loader, Octagon, Square, X } from 'lucide-react'
import {
  type ComponentProps,
  createContext,
  type ReactNode,
  useCallback,
  useContext,
  useEffect,
  useId,
  useMemo,
  useRef,
  useState,
} from 'react'
import { explain, Problem } from '../shared/problem.ts'
import { ago, exact, useNow } from '../shared/ui/time.ts'

export function Page({ title, actions, children }: { title: ReactNode; actions?: ReactNode; children: ReactNode }) {
  return (
    <main className="page" id="main" tabIndex={-1}>
      <div className="page-in">
        <header className="page-head">
          <h1>{title}</h1>
          {actions && <div className="actions">{actions}</div>}
        </header>
        {children}
      </div>
    </main>
  )
}

export function Button({
  primary,
  quiet,
  ...props
}: ComponentProps<'button'> & { primary?: boolean; quiet?: boolean }) {
  return (
    <button
      type="button"
      className="bl-button"
      data-primary={primary || undefined}
      data-quiet={quiet || undefined}
      {...props}
    />
  )
}

// States

interface LoadedProps<T> {
  query: UseQueryResult<T>
  children: (data: T) => ReactNode
  /** Shown instead where it says so of the data. */
  empty?: (data: T) => ReactNode | undefined
  rows?: number
}

/** What was asked for, or that it is on its way, or why it did not come. */
export function Loaded<T>({ query, children, empty, rows = 5 }: LoadedProps<T>) {
  if (query.isPending) return <Skeleton rows={rows} />
  if (query.isError && query.data === undefined)
    return <Failure error={query.error} retry={() => void query.refetch()} />
  const data = query.data as T
  return (
    <>
      {query.isError && <Failure error={query.error} retry={() => void query.refetch()} stale />}
      {empty?.(data) ?? children(data)}
    </>
  )
}

export function Skeleton({ rows = 5 }: { rows?: number }) {
  return (
    <div className="panel" role="status">
      <span className="bl-hidden">Loading</span>
      {Array.from({ length: rows }, (_, i) => (
        <div key={i} className="flex h-10 items-center gap-6 border-b border-line px-3 last:border-0">
          <span className="bone" style={{ width: `${18 + ((i * 7) % 12)}%` }} />
          <span className="bone" style={{ width: `${10 + ((i * 5) % 9)}%` }} />
          <span className="bone" style={{ width: '24%' }} />
        </div>
      ))}
    </div>
  )
}

export function Failure({ error, retry, stale = false }: { error: unknown; retry?: () => void; stale?: boolean }) {
  const forbidden = error instanceof Problem && error.status === 403
  return (
    <div className="mb-4 flex items-center gap-3 rounded-lg bg-signal-soft px-4 py-3 text-signal" role="alert">
      <CircleAlert size={16} aria-hidden="true" className="flex-none" />
      <div className="min-w-0">
        <p>{forbidden ? `You may not see this: ${explain(error)}` : explain(error)}</p>
        {stale && <p className="text-[13px]">What is below is from before.</p>}
        {error instanceof Problem && error.requestId && error.status >= 500 && (
          <p className="font-mono text-[12px]">Request {error.requestId}</p>
        )}
      </div>
      {retry && !forbidden && (
        <Button quiet className="bl-button ml-auto flex-none" onClick={retry}>
          Try again
        </Button>
      )}
    </div>
  )
}

export function Empty({ title, children, command }: { title: string; children?: ReactNode; command?: string }) {
  return (
    <div className="empty">
      <h2>{title}</h2>
      {children}
      {command && <Command text={command} />}
    </div>
  )
}

/** A command to copy. */
export function Command({ text }: { text: string }) {
  const [done, copy] = useCopy()
  return (
    <div className="command">
      <code>{text}</code>
      <button type="button" className="bl-icon-button" aria-label="Copy" onClick={() => copy(text)}>
        {done ? <Check size={14} aria-hidden="true" /> : <Copy size={14} aria-hidden="true" />}
      </button>
      <span className="bl-hidden" role="status">
        {done ? 'Copied' : ''}
      </span>
    </div>
  )
}

export function useCopy(): [done: boolean, copy: (text: string) => void] {
  const [done, setDone] = useState(false)
  useEffect(() => {
    if (!done) return
    const t = setTimeout(() => setDone(false), 1500)
    return () => clearTimeout(t)
  }, [done])
  return [done, useCallback((text: string) => void copyText(text).then(setDone), [])]
}

// The clipboard is there on https and localhost only; a selection works everywhere.
async function copyText(text: string): Promise<boolean> {
  if (navigator.clipboard) {
    await navigator.clipboard.writeText(text)
    return true
  }
  const area = document.createElement('textarea')
  area.value = text
  const place = document.querySelector('dialog[open]') ?? document.body
  place.append(area)
  area.select()
  const done = document.execCommand('copy')
  area.remove()
  return done
}

/** An id: shown short, copied whole. */
export function Id({ id, chars = 8 }: { id: string; chars?: number }) {
  const [done, copy] = useCopy()
  // Ids begin alike when they are made together: both ends are shown.
  const short = id.length > chars + 2 ? `${id.slice(0, 4)}…${id.slice(4 - chars)}` : id
  return (
    <button type="button" className="id" title={`Copy ${id}`} aria-label={`Copy ${id}`} onClick={() => copy(id)}>
      {short}
      {done ? <Check size={12} aria-hidden="true" /> : <Copy size={12} aria-hidden="true" />}
    </button>
  )
}

export function Ago({ at }: { at: string | null | undefined }) {
  const now = useNow(20_000)
  if (!at) return <span className="text-ink-3">never</span>
  return (
    <time dateTime={at} title={exact(at)} className="whitespace-nowrap">
      {ago(Date.parse(at), now)}
    </time>
  )
}

// Chips

export type Tone = 'live' | 'waiting' | 'stopped' | 'failed' | 'plain'

const states: Record<string, { word: string; tone: Tone; icon: typeof Check }> = {
  idle: { word: 'Idle', tone: 'plain', icon: CircleDashed },
  queued: { word: 'Queued', tone: 'plain', icon: Clock },
  running: { word: 'Running', tone: 'live', icon: Loader },
  stopping: { word: 'Stopping', tone: 'stopped', icon: Octagon },
  requires_action: { word: 'Waits for a person', tone: 'waiting', icon: Hand },
  completed: { word: 'Finished', tone: 'plain', icon: Check },
  cancelled: { word: 'Stopped', tone: 'stopped', icon: Square },
  limited: { word: 'At its limit', tone: 'stopped', icon: Octagon },
  failed: { word: 'Failed', tone: 'failed', icon: X },
  lost: { word: 'Node lost', tone: 'failed', icon: X },
  ok: { word: 'Done', tone: 'plain', icon: Check },
  error: { word: 'Failed', tone: 'failed', icon: X },
  success: { word: 'Done', tone: 'plain', icon: Check },
  aborted: { word: 'Stopped', tone: 'stopped', icon: Square },
  dropped: { word: 'Result dropped', tone: 'stopped', icon: Square },
  unconfirmed: { word: 'Not confirmed', tone: 'waiting', icon: CircleAlert },
  alive: { word: 'Alive', tone: 'live', icon: Check },
  late: { word: 'Late', tone: 'waiting', icon: Clock },
  dead: { word: 'Dead', tone: 'failed', icon: X },
  active: { word: 'Active', tone: 'plain', icon: Check },
  disabled: { word: 'Off', tone: 'stopped', icon: Square },
  open: { word: 'Waits', tone: 'waiting', icon: Hand },
  approved: { word: 'Approved', tone: 'plain', icon: Check },
  denied: { word: 'Rejected', tone: 'stopped', icon: X },
  withdrawn: { word: 'Withdrawn', tone: 'stopped', icon: Square },
  expired: { word: 'Expired', tone: 'stopped', icon: Clock },
}

/** A state: a word and a shape. */
export function StateChip({ state, word }: { state: string; word?: string }) {
  const s = states[state] ?? { word: state, tone: 'plain' as const, icon: CircleDashed }
  const Icon = s.icon
  return (
    <span className="chip" data-tone={s.tone}>
      <Icon aria-hidden="true" />
      {word ?? s.word}
    </span>
  )
}

export function Chip({ tone = 'plain', children }: { tone?: Tone; children: ReactNode }) {
  return (
    <span className="chip" data-tone={tone}>
      {children}
    </span>
  )
}

/** What the newest turn of a session came to, where nothing runs. */
export function LastEnd({ status, reason }: { status: string | null; reason: string | null }) {
  if (reason === 'cancelled') return <StateChip state="cancelled" />
  if (reason === 'limit') return <StateChip state="limited" />
  if (status === 'failed') return <StateChip state="failed" />
  if (status === 'completed') return <StateChip state="completed" />
  return null
}

// Forms

interface FieldProps {
  label: string
  hint?: ReactNode
  fault?: string
  warn?: string
  children: (control: { id: string; 'aria-invalid'?: true; 'aria-describedby'?: string }) => ReactNode
}

export function Field({ label, hint, fault, warn, children }: FieldProps) {
  const id = useId()
  const below = fault ?? warn ?? hint
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children({
        id,
        'aria-invalid': fault ? true : undefined,
        'aria-describedby': below ? `${id}-below` : undefined,
      })}
      {below && (
        <p id={`${id}-below`} className={fault ? 'fault' : warn ? 'warn' : 'hint'}>
          {below}
        </p>
      )}
    </div>
  )
}

interface DialogProps {
  title: string
  onClose: () => void
  children: ReactNode
  wide?: boolean
}

/** A modal dialog. Esc closes it and nothing else. */
export function Dialog({ title, onClose, children, wide }: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    const d = ref.current
    if (d && !d.open) d.showModal()
  }, [])
  return (
    <dialog
      ref={ref}
      className="dialog"
      style={wide ? { width: 'min(860px, calc(100vw - 32px))' } : undefined}
      aria-labelledby={id}
      onCancel={(e) => {
        e.preventDefault()
        onClose()
      }}
      onKeyDown={(e) => e.stopPropagation()}
    >
      <div className="dialog-head">
        <h2 id={id}>{title}</h2>
        <button type="button" className="bl-icon-button" aria-label="Close" onClick={onClose}>
          <X size={16} aria-hidden="true" />
        </button>
      </div>
      <div className="dialog-body">{children}</div>
    </dialog>
  )
}

interface ConfirmProps {
  title: string
  children?: ReactNode
  verb: string
  onClose: () => void
  run: () => Promise<unknown>
}

/** Asks before something that can't be undone. A single Stop never asks. */
export function Confirm({ title, children, verb, onClose, run }: ConfirmProps) {
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>()
  const go = async () => {
    setBusy(true)
    setError(undefined)
    try {
      await run()
      onClose()
    } catch (e) {
      setError(e)
      setBusy(false)
    }
  }
  return (
    <Dialog title={title} onClose={onClose}>
      {children}
      {error !== undefined && <Failure error={error} />}
      <div className="dialog-foot">
        <Button onClick={onClose}>Cancel</Button>
        <Button disabled={busy} onClick={go}>
          {verb}
        </Button>
      </div>
    </Dialog>
  )
}

// Toasts

const Toasts = createContext<(text: string) => void>(() => undefined)

export const useToast = () => useContext(Toasts)

export function ToastProvider({ children }: { children: ReactNode }) {
  const [toast, setToast] = useState<{ text: string; n: number }>()
  const say = useCallback((text: string) => setToast((t) => ({ text, n: (t?.n ?? 0) + 1 })), [])
  useEffect(() => {
    if (!toast) return
    const t = setTimeout(() => setToast(undefined), 5000)
    return () => clearTimeout(t)
  }, [toast])
  return (
    <Toasts.Provider value={useMemo(() => say, [say])}>
      {children}
      <div role="status" aria-live="polite">
        {toast && <div className="toast">{toast.text}</div>}
      </div>
    </Toasts.Provider>
  )
}

/** Text that is the link of a list's next page. */
export function More({
  query,
}: {
  query: { hasNextPage: boolean; isFetchingNextPage: boolean; fetchNextPage: () => unknown }
}) {
  if (!query.hasNextPage) return null
  return (
    <div className="mt-3 flex justify-center">
      <Button disabled={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
        {query.isFetchingNextPage ? 'Loading…' : 'Show more'}
      </Button>
    </div>
  )
}
