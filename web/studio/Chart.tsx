// A chart, and the same as a table.
import 'uplot/dist/uPlot.min.css'
import { type ReactNode, useEffect, useRef, useSyncExternalStore } from 'react'
import uPlot from 'uplot'

export interface Series {
  label: string
  /** A custom property of tokens.css. */
  color: string
  values: (number | null)[]
  format?: (v: number) => string
}

interface ChartProps {
  title: string
  note?: ReactNode
  /** Names of the groups along the axis. */
  labels: string[]
  series: Series[]
  kind?: 'bars' | 'stacked' | 'lines'
  format: (v: number) => string
  labelHead?: string
  height?: number
}

// The colours are those of the scheme, which may change under the page.
function onScheme(changed: () => void) {
  const media = matchMedia('(prefers-color-scheme: dark)')
  const seen = new MutationObserver(changed)
  media.addEventListener('change', changed)
  seen.observe(document.documentElement, { attributeFilter: ['data-theme'] })
  return () => {
    media.removeEventListener('change', changed)
    seen.disconnect()
  }
}

function scheme(): string {
  const chosen = document.documentElement.dataset.theme
  return chosen ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light')
}

// A canvas knows no custom properties: they are asked of an element.
function resolve(el: HTMLElement, color: string): string {
  const probe = document.createElement('span')
  probe.style.color = `var(${color})`
  el.append(probe)
  const value = getComputedStyle(probe).color
  probe.remove()
  return value
}

export function Chart(props: ChartProps) {
  const { title, note, labels, series, format, labelHead = 'Day' } = props
  return (
    <figure className="panel panel-pad min-w-0">
      <figcaption className="mb-2 flex flex-wrap items-baseline gap-x-3">
        <span className="text-[14px] font-semibold">{title}</span>
        {note && <span className="text-[12.5px] text-ink-3">{note}</span>}
      </figcaption>
      <Legend series={series} />
      <Plot {...props} />
      <details className="mt-2 text-[13px]">
        <summary className="cursor-pointer text-ink-3">As a table</summary>
        <section className="mt-2 max-h-72 overflow-auto" tabIndex={0} aria-label={`${title} as a table`}>
          <table className="table">
            <thead>
              <tr>
                <th>{labelHead}</th>
                {series.map((s) => (
                  <th key={s.label} className="num">
                    {s.label}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {labels.map((l, i) => (
                <tr key={l}>
                  <td>{l}</td>
                  {series.map((s) => {
                    const v = s.values[i]
                    return (
                      <td key={s.label} className="num">
                        {v === null || v === undefined ? '–' : (s.format ?? format)(v)}
                      </td>
                    )
                  })}
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      </details>
    </figure>
  )
}

function Legend({ series }: { series: Series[] }) {
  return (
    <ul className="mb-1 flex flex-wrap gap-x-4 text-[12.5px] text-ink-2" aria-hidden="true">
      {series.map((s) => (
        <li key={s.label} className="flex items-center gap-1.5">
          <span className="inline-block h-2.5 w-2.5 rounded-sm" style={{ background: `var(${s.color})` }} />
          {s.label}
        </li>
      ))}
    </ul>
  )
}

function Plot({ title, labels, series, kind = 'bars', format, height = 180 }: ChartProps) {
  const box = useRef<HTMLDivElement>(null)
  const colours = useSyncExternalStore(onScheme, scheme)
  const key = JSON.stringify([labels, series.map((s) => [s.label, s.color, s.values])])

  // biome-ignore lint/correctness/useExhaustiveDependencies: the key is what is drawn
  useEffect(() => {
    const el = box.current
    if (!el) return
    const plot = new uPlot(optionsOf(el, { labels, series, kind, format, height }), dataOf(labels, series, kind), el)
    const seen = new ResizeObserver(() => plot.setSize({ width: el.clientWidth, height }))
    seen.observe(el)
    return () => {
      seen.disconnect()
      plot.destroy()
    }
  }, [key, kind, height, colours])
  return (
    <div ref={box} role="img" aria-label={`${title}: a chart; the table below has its figures`} style={{ height }} />
  )
}

// Stacked: each series is drawn over the sum of those below it, the tallest first.
function dataOf(labels: string[], series: Series[], kind: ChartProps['kind']): uPlot.AlignedData {
  const xs = labels.map((_, i) => i)
  if (kind !== 'stacked') return [xs, ...series.map((s) => s.values)]
  const sums = xs.map(() => 0)
  const stacked = series.map((s) => s.values.map((v, i) => (sums[i] = (sums[i] ?? 0) + (v ?? 0))))
  return [xs, ...stacked.reverse()]
}

type Drawn = Pick<ChartProps, 'labels' | 'series' | 'kind' | 'format'> & { height: number }

function optionsOf(el: HTMLElement, { labels, series, kind, format, height }: Drawn): uPlot.Options {
  const ink = resolve(el, '--ink-3')
  const line = resolve(el, '--line')
  const font = '12px "Inter Variable", system-ui, sans-serif'
  const drawn = kind === 'stacked' ? [...series].reverse() : series
  const many = kind === 'bars' && series.length > 1
  return {
    width: el.clientWidth || 600,
    height,
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false } },
    padding: [10, 8, 0, 0],
    scales: {
      x: { time: false, range: () => [-0.6, labels.length - 0.4] },
      y: { range: (_u, _min, max) => [0, max > 0 ? max * 1.08 : 1] },
    },
    axes: [
      {
        stroke: ink,
        font,
        grid: { show: false },
        ticks: { show: false },
        size: 28,
        gap: 8,
        values: (_u, splits) => splits.map((i) => (Number.isInteger(i) ? (labels[i] ?? '') : '')),
        space: 70,
      },
      {
        stroke: ink,
        font,
        size: 62,
        grid: { stroke: line, width: 1 },
        ticks: { show: false },
        values: (_u, splits) => splits.map((v) => format(v)),
      },
    ],
    series: [
      {},
      ...drawn.map((s, i) => {
        const stroke = resolve(el, s.color)
        if (kind === 'lines')
          return { label: s.label, stroke, width: 2, points: { size: 5, fill: stroke }, spanGaps: true }
        // Side by side where they are not stacked.
        const width = many ? 0.8 / series.length : 0.7
        const align = many ? ((i - (series.length - 1) / 2) * 2 > 0 ? 1 : i - (series.length - 1) / 2 < 0 ? -1 : 0) : 0
        return {
          label: s.label,
          fill: stroke,
          width: 0,
          points: { show: false },
          paths: uPlot.paths.bars?.({ size: [width, 40], align: align as -1 | 0 | 1, radius: 0.1 }),
        }
      }),
    ],
  }
}
