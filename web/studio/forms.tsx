// Forms over configuration documents: fields by path, faults by the same path.
import { useId } from 'react'
import { Problem } from '../shared/problem.ts'
import { Field } from './ui.tsx'

export type Doc = { [key: string]: unknown }

/** Reads a value by a path like limits.max_tool_calls or tools[2].key. */
export function get(doc: unknown, path: string): unknown {
  return parts(path).reduce<unknown>((v, key) => (v as Doc | undefined)?.[key], doc)
}

/** A copy with the value there. Undefined takes it out, and what is left empty by that. */
export function set(doc: Doc, path: string, value: unknown): Doc {
  const [first, ...rest] = parts(path)
  return (first === undefined ? doc : put(doc, first, rest, value)) as Doc
}

function put(doc: unknown, key: string, rest: string[], value: unknown): unknown {
  const copy: Doc | unknown[] = Array.isArray(doc) ? [...doc] : { ...(doc as Doc | undefined) }
  const target = copy as Doc
  const [next, ...more] = rest
  const inner = next === undefined ? value : put(target[key], next, more, value)
  const empty = inner === undefined || (next !== undefined && isEmpty(inner))
  if (empty && !Array.isArray(copy)) delete target[key]
  else target[key] = inner
  return copy
}

function isEmpty(v: unknown): boolean {
  return typeof v === 'object' && v !== null && !Array.isArray(v) && Object.keys(v).length === 0
}

function parts(path: string): string[] {
  return path
    .replace(/\[(\d+)\]/g, '.$1')
    .split('.')
    .filter(Boolean)
}

export interface Spec {
  path: string
  label: string
  kind: 'text' | 'secret' | 'number' | 'area' | 'code' | 'select' | 'check' | 'words' | 'lines' | 'pairs'
  options?: [string, string][]
  /** The word of a select's empty choice; without one it has none. */
  none?: string
  /** Of a check: what it is where the document says nothing. */
  otherwise?: boolean
  hint?: string
  placeholder?: string
  rows?: number
  step?: number
  wide?: boolean
  /** Of a check: it stands in a row of checks, not beside a field with a label above it. */
  flush?: boolean
}

export interface Fault {
  field: string
  message: string
}

/** What an answer says about a field, to be shown at it; nothing where it names none. */
export function faultsOf(error: unknown): Fault[] {
  if (!(error instanceof Problem && error.param)) return []
  const named = `${error.param}: `
  return [
    {
      field: error.param,
      message: error.message.startsWith(named) ? error.message.slice(named.length) : error.message,
    },
  ]
}

interface Props {
  specs: Spec[]
  doc: Doc
  onChange: (doc: Doc) => void
  /** What paths are below in the faults: config, config.tools[2]. */
  prefix: string
  faults: Fault[]
  warnings?: Fault[]
  disabled?: boolean
}

/** The fields of a document, two in a row where there is room. */
export function Fields({ specs, doc, onChange, prefix, faults, warnings = [], disabled }: Props) {
  return (
    <div className="grid gap-4 min-[1200px]:grid-cols-2">
      {specs.map((s) => {
        const field = prefix ? `${prefix}.${s.path}` : s.path
        return (
          <div
            key={s.path}
            className={s.wide || s.kind === 'area' || s.kind === 'code' ? 'min-[1200px]:col-span-2' : undefined}
          >
            <Control
              spec={s}
              value={get(doc, s.path)}
              onChange={(v) => onChange(set(doc, s.path, v))}
              fault={of(faults, field)}
              warn={of(warnings, field)}
              disabled={disabled}
            />
          </div>
        )
      })}
    </div>
  )
}

/** The message about a field, or about something in it that has no field of its own. */
export function of(faults: Fault[], field: string): string | undefined {
  return faults.find((f) => f.field === field || f.field.startsWith(`${field}[`))?.message
}

interface ControlProps {
  spec: Spec
  value: unknown
  onChange: (v: unknown) => void
  fault?: string
  warn?: string
  disabled?: boolean
}

function Control({ spec, value, onChange, fault, warn, disabled }: ControlProps) {
  const id = useId()
  if (spec.kind === 'check') {
    const otherwise = spec.otherwise ?? false
    const below = fault ?? warn ?? spec.hint
    return (
      <div className={spec.flush ? 'field' : 'field pt-6'}>
        <label className="check" htmlFor={id}>
          <input
            id={id}
            type="checkbox"
            disabled={disabled}
            checked={value === undefined ? otherwise : value === true}
            aria-describedby={below ? `${id}-below` : undefined}
            onChange={(e) => onChange(e.target.checked === otherwise ? undefined : e.target.checked)}
          />
          {spec.label}
        </label>
        {below && (
          <p id={`${id}-below`} className={fault ? 'fault' : warn ? 'warn' : 'hint'}>
            {below}
          </p>
        )}
      </div>
    )
  }
  return (
    <Field label={spec.label} hint={spec.hint} fault={fault} warn={warn}>
      {(c) => <Input control={c} spec={spec} value={value} onChange={onChange} disabled={disabled} />}
    </Field>
  )
}

interface InputProps {
  control: { id: string; 'aria-invalid'?: true; 'aria-describedby'?: string }
  spec: Spec
  value: unknown
  onChange: (v: unknown) => void
  disabled?: boolean
}

function Input({ control, spec, value, onChange, disabled }: InputProps) {
  const text = (v: string) => onChange(v === '' ? undefined : v)
  const common = { ...control, disabled, placeholder: spec.placeholder }
  switch (spec.kind) {
    case 'select':
      return (
        <select
          {...control}
          className="input"
          disabled={disabled}
          value={String(value ?? '')}
          onChange={(e) => text(e.target.value)}
        >
          {(spec.none !== undefined || value === undefined) && <option value="">{spec.none ?? 'Choose…'}</option>}
          {typeof value === 'string' && value !== '' && !spec.options?.some(([v]) => v === value) && (
            <option value={value}>{value}</option>
          )}
          {spec.options?.map(([v, word]) => (
            <option key={v} value={v}>
              {word}
            </option>
          ))}
        </select>
      )
    case 'number':
      return (
        <input
          {...common}
          className="input"
          type="number"
          step={spec.step ?? 1}
          value={typeof value === 'number' ? value : ''}
          onChange={(e) => onChange(e.target.value === '' ? undefined : Number(e.target.value))}
        />
      )
    case 'area':
    case 'code':
      return (
        <textarea
          {...common}
          className={spec.kind === 'code' ? 'input mono' : 'input'}
          rows={spec.rows ?? 4}
          spellCheck={spec.kind === 'area'}
          value={typeof value === 'string' ? value : ''}
          onChange={(e) => text(e.target.value)}
        />
      )
    case 'words':
      return (
        <Typed {...{ common, value, onChange }} show={(v) => asList(v).join(', ')} read={(t) => listOf(t.split(','))} />
      )
    case 'lines':
      return (
        <Typed
          {...{ common, value, onChange }}
          rows={spec.rows ?? 3}
          show={(v) => asList(v).join('\n')}
          read={(t) => listOf(t.split('\n'))}
        />
      )
    case 'pairs':
      return <Typed {...{ common, value, onChange }} rows={spec.rows ?? 3} show={showPairs} read={readPairs} />
    default:
      return (
        <input
          {...common}
          className="input"
          type={spec.kind === 'secret' ? 'password' : 'text'}
          autoComplete="off"
          value={typeof value === 'string' ? value : ''}
          onChange={(e) => text(e.target.value)}
        />
      )
  }
}

interface TypedProps {
  common: InputProps['control'] & { disabled?: boolean; placeholder?: string }
  value: unknown
  onChange: (v: unknown) => void
  show: (v: unknown) => string
  read: (text: string) => unknown
  rows?: number
}

// A list in one field. It is not rewritten while it is typed: the text is its own.
function Typed({ common, value, onChange, show, read, rows }: TypedProps) {
  const props = {
    ...common,
    className: rows ? 'input mono' : 'input',
    defaultValue: show(value),
    onChange: (e: { target: { value: string } }) => onChange(read(e.target.value)),
  }
  return rows ? <textarea {...props} rows={rows} spellCheck={false} /> : <input {...props} autoComplete="off" />
}

function asList(v: unknown): string[] {
  return Array.isArray(v) ? v.map(String) : []
}

function listOf(items: string[]): string[] | undefined {
  const list = items.map((s) => s.trim()).filter(Boolean)
  return list.length > 0 ? list : undefined
}

function showPairs(v: unknown): string {
  return Object.entries((v ?? {}) as Record<string, string>)
    .map(([k, x]) => `${k}: ${x}`)
    .join('\n')
}

function readPairs(text: string): Record<string, string> | undefined {
  const pairs = text
    .split('\n')
    .map((l) => l.split(':'))
    .filter((p) => p[0]?.trim())
    .map(([k, ...v]) => [k?.trim() ?? '', v.join(':').trim()])
  return pairs.length > 0 ? Object.fromEntries(pairs) : undefined
}
