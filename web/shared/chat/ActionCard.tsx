// A request that needs a person: an approval of a tool call, or a question.
import { type KeyboardEvent, memo, useEffect, useId, useRef, useState } from 'react'
import type { ActionItem } from '../reducer.ts'
import { CheckIcon, CrossIcon, HandIcon, QuestionIcon, StoppedIcon } from '../ui/icons.tsx'
import { usePlace } from './context.ts'
import type { Decision } from './controller.ts'
import { decided, pretty } from './words.ts'

interface Props {
  action: ActionItem
  onDecide: (actionId: string, decision: Decision) => Promise<void>
  /** The card takes the focus whenever this grows. */
  focus?: number
}

export const ActionCard = memo(function ActionCard({ action, onDecide, focus = 0 }: Props) {
  const { who, mayApprove, mayAnswer } = usePlace()
  const card = useRef<HTMLFieldSetElement>(null)
  const [busy, setBusy] = useState(false)
  const open = action.state === 'open'
  const question = action.type === 'question'
  const may = question ? mayAnswer : mayApprove

  useEffect(() => {
    if (focus > 0 && open) {
      card.current?.focus()
      card.current?.scrollIntoView({ block: 'nearest' })
    }
  }, [focus, open])

  const decide = async (d: Decision) => {
    setBusy(true)
    try {
      await onDecide(action.actionId, d)
    } catch {
      // The chat says why.
    } finally {
      setBusy(false)
    }
  }

  if (!open) {
    return (
      <div className="bl-card" data-state={action.state}>
        <div className="bl-card-head">
          {action.state === 'approved' ? <CheckIcon /> : action.state === 'denied' ? <CrossIcon /> : <StoppedIcon />}
          <span>{question ? questionOf(action).question : <code>{action.name}</code>}</span>
          <span className="bl-card-outcome">{decided(action, who)}</span>
        </div>
      </div>
    )
  }
  return (
    <fieldset className="bl-card" data-state="open" ref={card} tabIndex={-1} disabled={busy}>
      <legend className="bl-card-head">
        {question ? <QuestionIcon /> : <HandIcon />}
        {question ? 'A question for you' : 'Needs approval'}
      </legend>
      {question ? (
        <Question action={action} may={may} decide={decide} />
      ) : (
        <Approval action={action} may={may} decide={decide} />
      )}
    </fieldset>
  )
})

interface BodyProps {
  action: ActionItem
  may: boolean
  decide: (d: Decision) => Promise<void>
}

function Approval({ action, may, decide }: BodyProps) {
  const [edited, setEdited] = useState<string>()
  const [note, setNote] = useState('')
  const ids = useId()
  const fault = edited === undefined ? undefined : objectFault(edited)
  const args = edited === undefined || fault ? undefined : (JSON.parse(edited) as Record<string, unknown>)
  const comment = note.trim() || undefined

  // Esc belongs to the editor while it is open: it closes it, and stops nothing.
  const closeEditor = (e: KeyboardEvent) => {
    if (e.key !== 'Escape') return
    e.preventDefault()
    e.stopPropagation()
    setEdited(undefined)
  }

  return (
    <>
      <p className="bl-card-text">
        The agent wants to call <code>{action.name}</code> with
      </p>
      {edited === undefined ? (
        <pre tabIndex={0}>{pretty(action.args) || '{}'}</pre>
      ) : (
        <>
          <textarea
            className="bl-code"
            aria-label="Arguments as JSON"
            aria-invalid={!!fault}
            aria-describedby={fault ? `${ids}fault` : undefined}
            rows={Math.min(12, edited.split('\n').length + 1)}
            value={edited}
            onChange={(e) => setEdited(e.currentTarget.value)}
            onKeyDown={closeEditor}
            spellCheck={false}
          />
          {fault && (
            <p className="bl-fault" id={`${ids}fault`}>
              {fault}
            </p>
          )}
        </>
      )}
      {may ? (
        <>
          <input
            className="bl-input"
            aria-label="Note for the agent"
            placeholder="Note for the agent (optional)"
            value={note}
            onChange={(e) => setNote(e.currentTarget.value)}
          />
          <div className="bl-card-row">
            <button
              type="button"
              className="bl-button"
              data-primary
              disabled={!!fault}
              onClick={() => decide({ decision: 'approve', arguments: args, comment })}
            >
              <CheckIcon />
              {args ? 'Approve as edited' : 'Approve'}
            </button>
            <button type="button" className="bl-button" onClick={() => decide({ decision: 'reject', comment })}>
              <CrossIcon />
              Reject
            </button>
            <button
              type="button"
              className="bl-button"
              data-quiet
              onClick={() => setEdited(edited === undefined ? pretty(action.args) || '{}' : undefined)}
            >
              {edited === undefined ? 'Edit arguments' : 'Keep as asked'}
            </button>
          </div>
        </>
      ) : (
        <p className="bl-card-note">Somebody with the right to approve decides this.</p>
      )}
    </>
  )
}

interface Asked {
  question: string
  options: string[]
  free: boolean
}

export function questionOf(action: { args: unknown }): Asked {
  const a = (action.args ?? {}) as { question?: unknown; options?: unknown; allow_free_text?: unknown }
  const options = Array.isArray(a.options) ? a.options.filter((o): o is string => typeof o === 'string') : []
  return {
    question: typeof a.question === 'string' ? a.question : 'The agent asks for an answer.',
    options,
    free: typeof a.allow_free_text === 'boolean' ? a.allow_free_text : options.length === 0,
  }
}

function Question({ action, may, decide }: BodyProps) {
  const { question, options, free } = questionOf(action)
  const [answer, setAnswer] = useState('')
  const send = () => {
    if (answer.trim()) void decide({ decision: 'answer', answer: answer.trim() })
  }
  return (
    <>
      <p className="bl-card-text">{question}</p>
      {may && options.length > 0 && (
        <div className="bl-card-row">
          {options.map((o) => (
            <button
              key={o}
              type="button"
              className="bl-button"
              onClick={() => decide({ decision: 'answer', answer: o })}
            >
              {o}
            </button>
          ))}
        </div>
      )}
      {may && free && (
        <div className="bl-card-row">
          <input
            className="bl-input"
            aria-label="Your answer"
            placeholder="Your answer"
            value={answer}
            onChange={(e) => setAnswer(e.currentTarget.value)}
            onKeyDown={(e) => {
              if (e.key !== 'Enter' || e.nativeEvent.isComposing) return
              e.preventDefault()
              send()
            }}
          />
          <button type="button" className="bl-button" data-primary disabled={!answer.trim()} onClick={send}>
            Answer
          </button>
        </div>
      )}
      {!may && <p className="bl-card-note">Who began this session answers it.</p>}
    </>
  )
}

/** What is wrong with a text as a JSON object. */
export function objectFault(text: string): string | undefined {
  try {
    const v: unknown = JSON.parse(text)
    return typeof v === 'object' && v !== null && !Array.isArray(v) ? undefined : 'Must be a JSON object: { … }'
  } catch (e) {
    return `Not valid JSON: ${e instanceof Error ? e.message : String(e)}`
  }
}
