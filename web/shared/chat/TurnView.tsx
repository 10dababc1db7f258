import { memo, useState } from 'react'
import { Markdown } from '../markdown.tsx'
import type { AnswerItem, Item, Turn } from '../reducer.ts'
import { ChevronIcon, ErrorIcon, StoppedIcon } from '../ui/icons.tsx'
import { exact } from '../ui/time.ts'
import { ActionCard } from './ActionCard.tsx'
import { usePlace } from './context.ts'
import type { Decision } from './controller.ts'
import { ToolRow } from './ToolRow.tsx'
import { endWord } from './words.ts'

interface Props {
  turn: Turn
  last: boolean
  stopping: boolean
  focusCard: number
  onDecide: (actionId: string, decision: Decision) => Promise<void>
  onContinue?: () => void
  onRetry?: () => void
}

/** One turn of the transcript. Drawn again only when it changes. */
export const TurnView = memo(function TurnView(props: Props) {
  const { turn, last, stopping, focusCard, onDecide } = props
  const waits = turn.phase === 'running' && !turn.items.some(busy)
  return (
    <section className="bl-turn" data-last={last || undefined}>
      {turn.items.map((item) => (
        <ItemView key={item.id} item={item} stopping={stopping} focusCard={focusCard} onDecide={onDecide} />
      ))}
      {waits && !stopping && (
        <p className="bl-thinking" aria-hidden="true">
          <span />
          <span />
          <span />
        </p>
      )}
      <End {...props} />
    </section>
  )
})

function busy(i: Item): boolean {
  return (i.kind === 'answer' && i.status === 'streaming') || (i.kind === 'tool' && !!i.startedAt && !i.outcome)
}

type ItemProps = { item: Item; stopping: boolean } & Pick<Props, 'focusCard' | 'onDecide'>

function ItemView({ item, stopping, focusCard, onDecide }: ItemProps) {
  switch (item.kind) {
    case 'user':
      return (
        <div className="bl-user" title={exact(item.at)}>
          <span className="bl-hidden">You: </span>
          {item.text}
        </div>
      )
    case 'answer':
      return <Answer item={item} />
    case 'tool':
      return <ToolRow tool={item} stopping={stopping} />
    case 'action':
      return <ActionCard action={item} onDecide={onDecide} focus={item.state === 'open' ? focusCard : 0} />
  }
}

const Answer = memo(function Answer({ item }: { item: AnswerItem }) {
  const live = item.status === 'streaming'
  return (
    <>
      {item.reasoning && <Reasoning text={item.reasoning} live={live && !item.text} />}
      {item.text && (
        <div className="bl-answer" title={exact(item.at)}>
          <span className="bl-hidden">Agent: </span>
          <Markdown text={item.text} live={live} />
        </div>
      )}
    </>
  )
})

function Reasoning({ text, live }: { text: string; live: boolean }) {
  const [open, setOpen] = useState<boolean>()
  return (
    <details
      className="bl-reasoning"
      open={open ?? live}
      onToggle={(e) => {
        if (e.currentTarget.open !== (open ?? live)) setOpen(e.currentTarget.open)
      }}
    >
      <summary>
        <ChevronIcon />
        {live ? 'Thinking…' : 'Thoughts'}
      </summary>
      <p>{text}</p>
    </details>
  )
}

function End({ turn, last, onContinue, onRetry }: Props) {
  const { who } = usePlace()
  const end = turn.end
  if (!end) return null
  const word = endWord(end)
  const failed = end.status === 'failed'
  if (!word && !failed) return null
  const by = end.stop && !end.stop.detail ? who(end.stop.by) : undefined
  return (
    <div className="bl-end" data-failed={failed || undefined}>
      {failed ? <ErrorIcon /> : <StoppedIcon />}
      <span>
        {failed ? (end.error?.message ?? 'It failed.') : word}
        {by && <span className="bl-end-by"> · by {by}</span>}
      </span>
      {last && (onContinue || onRetry) && (
        <span className="bl-end-next">
          {onContinue && !failed && (
            <button type="button" className="bl-button" data-quiet onClick={onContinue}>
              Continue
            </button>
          )}
          {onRetry && (
            <button type="button" className="bl-button" data-quiet onClick={onRetry}>
              Retry
            </button>
          )}
        </span>
      )}
    </div>
  )
}
