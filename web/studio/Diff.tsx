// The difference of two documents, line by line.
import { useMemo } from 'react'

type Line = { kind: ' ' | '+' | '-'; text: string }

// Keys in one order, so that only what differs is shown.
function sorted(v: unknown): unknown {
  if (Array.isArray(v)) return v.map(sorted)
  if (typeof v !== 'object' || v === null) return v
  return Object.fromEntries(
    Object.entries(v)
      .sort(([a], [b]) => a.localeCompare(b))
      .map(([k, x]) => [k, sorted(x)]),
  )
}

// A long text is shown by its lines, not as one with \n in it.
function lines(doc: unknown): string[] {
  return JSON.stringify(sorted(doc), null, 2)
    .split('\n')
    .flatMap((l) => l.split(/(?<=\\n)/))
}

/** The longest common lines are kept; the rest was taken out or put in. */
export function diff(a: string[], b: string[]): Line[] {
  const n = a.length
  const m = b.length
  const best: number[][] = Array.from({ length: n + 1 }, () => new Array<number>(m + 1).fill(0))
  const at = (i: number, j: number) => best[i]?.[j] ?? 0
  for (let i = n - 1; i >= 0; i--) {
    for (let j = m - 1; j >= 0; j--) {
      const row = best[i]
      if (row) row[j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1))
    }
  }
  const out: Line[] = []
  let i = 0
  let j = 0
  while (i < n || j < m) {
    if (i < n && j < m && a[i] === b[j]) {
      out.push({ kind: ' ', text: a[i] ?? '' })
      i++
      j++
    } else if (i < n && (j >= m || at(i + 1, j) >= at(i, j + 1))) {
      out.push({ kind: '-', text: a[i++] ?? '' })
    } else {
      out.push({ kind: '+', text: b[j++] ?? '' })
    }
  }
  return out
}

interface Props {
  before: unknown
  after: unknown
  beforeName: string
  afterName: string
}

export function Diff({ before, after, beforeName, afterName }: Props) {
  const all = useMemo(() => diff(lines(before), lines(after)), [before, after])
  const changed = all.filter((l) => l.kind !== ' ').length
  if (changed === 0) return <p className="text-ink-2">They are the same.</p>
  return (
    <section aria-label={`Difference of ${beforeName} and ${afterName}`}>
      <p className="mb-2 text-[13px] text-ink-2">
        <span className="font-mono">−</span> {beforeName} &nbsp; <span className="font-mono">+</span> {afterName}
      </p>
      <div className="diff panel py-2" tabIndex={0}>
        {all.map((l, i) => (
          <div key={i} data-kind={l.kind}>
            {l.kind} {l.text}
          </div>
        ))}
      </div>
    </section>
  )
}
