import { useQuery } from '@tanstack/react-query'
import { Plus, Trash2 } from 'lucide-react'
import { useRef } from 'react'
import { type Options, sourceSpecs, sources, toolSpecs } from '../agentSpecs.ts'
import { api, must } from '../api.ts'
import { type Doc, type Fault, Fields, set } from '../forms.tsx'
import { Button } from '../ui.tsx'

interface Props {
  config: Doc
  onChange: (c: Doc) => void
  agents: Options
  faults: Fault[]
  warnings: Fault[]
  disabled: boolean
}

/** The tools of an agent, a panel each. */
export function ToolsEditor({ config, onChange, agents, faults, warnings, disabled }: Props) {
  const tools = (Array.isArray(config.tools) ? config.tools : []) as Doc[]
  const known = useQuery({ queryKey: ['tools'], queryFn: () => must(api.GET('/tools')) })
  const keys = useRef<number[]>([])
  while (keys.current.length < tools.length) keys.current.push(Math.max(0, ...keys.current) + 1)

  const change = (i: number, tool: Doc) =>
    onChange(
      set(
        config,
        'tools',
        tools.map((t, n) => (n === i ? tool : t)),
      ),
    )
  const remove = (i: number) => {
    keys.current.splice(i, 1)
    const left = tools.filter((_, n) => n !== i)
    onChange(set(config, 'tools', left.length > 0 ? left : undefined))
  }
  const add = () => onChange(set(config, 'tools', [...tools, { source: 'function', key: '' }]))

  return (
    <div className="flex flex-col gap-3">
      {tools.map((tool, i) => {
        const source = String(tool.source ?? '')
        const prefix = `config.tools[${i}]`
        const wrong = faults.some((f) => f.field.startsWith(prefix))
        return (
          <details key={keys.current[i]} className="panel" open={wrong || tool.key === '' || undefined}>
            <summary className="flex cursor-pointer items-center gap-3 px-4 py-2.5">
              <span className="font-mono text-[13px] font-semibold">{String(tool.key || 'new tool')}</span>
              <span className="text-[13px] text-ink-3">{sources.find(([s]) => s === source)?.[1] ?? source}</span>
              {tool.approval === 'always' && (
                <span className="chip" data-tone="waiting">
                  Asks first
                </span>
              )}
              {wrong && <span className="text-[13px] text-signal">needs mending</span>}
            </summary>
            <div className="flex flex-col gap-4 border-t border-line p-4">
              <Fields
                specs={[
                  { path: 'source', label: 'Kind', kind: 'select', options: sources },
                  ...toolSpecs,
                  ...sourceSpecs(source, agents),
                ]}
                doc={tool}
                onChange={(t) => change(i, t.source === tool.source ? t : switched(t))}
                prefix={prefix}
                faults={faults}
                warnings={warnings}
                disabled={disabled}
              />
              {source === 'function' && (known.data?.functions.length ?? 0) > 0 && (
                <p className="text-[13px] text-ink-3">
                  Functions here: {known.data?.functions.map((f) => f.name).join(', ')}
                </p>
              )}
              {!disabled && (
                <div>
                  <Button quiet onClick={() => remove(i)}>
                    <Trash2 size={14} aria-hidden="true" />
                    Remove {String(tool.key || 'tool')}
                  </Button>
                </div>
              )}
            </div>
          </details>
        )
      })}
      {tools.length === 0 && <p className="text-[13.5px] text-ink-3">None: it can only answer.</p>}
      {!disabled && (
        <div>
          <Button onClick={add}>
            <Plus size={14} aria-hidden="true" />
            Add tool
          </Button>
        </div>
      )}
    </div>
  )
}

// What belongs to another source goes with it.
function switched(t: Doc): Doc {
  const { source, key, approval, timeout_ms } = t
  return Object.fromEntries(Object.entries({ source, key, approval, timeout_ms }).filter(([, v]) => v !== undefined))
}
