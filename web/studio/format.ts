// Figures as people read them.

export function number(n: number): string {
  return n.toLocaleString('en-US')
}

export function compact(n: number): string {
  return n.toLocaleString('en-US', { notation: 'compact', maximumFractionDigits: 1 })
}

/** Small sums keep the digits that say something. */
export function dollars(n: number): string {
  if (n === 0) return '$0'
  if (n < 0.01) return `$${n.toPrecision(2)}`
  return n.toLocaleString('en-US', { style: 'currency', currency: 'USD' })
}

export function percent(part: number, whole: number): string {
  if (whole === 0) return '–'
  return `${((part / whole) * 100).toFixed(part / whole < 0.1 ? 1 : 0)} %`
}
