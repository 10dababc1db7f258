// Times as people read them.
import { useEffect, useState } from 'react'

/** 0:42, 12:05, 1:02:03 */
export function clock(ms: number): string {
  const s = Math.max(0, Math.floor(ms / 1000))
  const two = (n: number) => String(n).padStart(2, '0')
  const minutes = Math.floor(s / 60)
  if (minutes < 60) return `${minutes}:${two(s % 60)}`
  return `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(s % 60)}`
}

/** 8 ms, 1.4 s, 2 min 5 s */
export function duration(ms: number): string {
  if (ms < 1000) return `${ms < 10 ? Math.round(ms * 10) / 10 : Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`
  const minutes = Math.floor(ms / 60_000)
  if (minutes < 60) return `${minutes} min ${Math.floor((ms % 60_000) / 1000)} s`
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

/** just now, 5 min ago, 3 h ago, 12 May */
export function ago(at: number, now: number): string {
  const s = Math.round((now - at) / 1000)
  if (s < -60) return `in ${duration(at - now).replace(/ \d+ s$/, '')}`
  if (s < 10) return 'just now'
  if (s < 60) return `${s} s ago`
  if (s < 3600) return `${Math.floor(s / 60)} min ago`
  if (s < 86_400) return `${Math.floor(s / 3600)} h ago`
  if (s < 7 * 86_400) return `${Math.floor(s / 86_400)} d ago`
  const sameYear = new Date(at).getFullYear() === new Date(now).getFullYear()
  return new Date(at).toLocaleDateString('en-GB', {
    day: 'numeric',
    month: 'short',
    year: sameYear ? undefined : 'numeric',
  })
}

/** The exact instant, for titles. */
export function exact(at: string | number): string {
  return new Date(at).toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'long' })
}

/** The time now, drawn again every so often while it is wanted. */
export function useNow(every: number, wanted = true): number {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    if (!wanted) return
    setNow(Date.now())
    const t = setInterval(() => setNow(Date.now()), every)
    return () => clearInterval(t)
  }, [every, wanted])
  return now
}
