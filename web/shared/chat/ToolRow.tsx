import { memo } from 'react'
import type { ToolItem } from '../reducer.ts'
import { CheckIcon, ChevronIcon, DotIcon, ErrorIcon, QuestionIcon, StoppedIcon, ToolIcon } from '../ui/icons.tsx'
import { duration } from '../ui/time.ts'
import { usePlace } from './context.ts'
import { brief, pretty } from './words.ts'

interface State {
  word: string
  tone: 'live' | 'done' | 'stopped' | 'failed' | 'unsure'
  icon: typeof ToolIcon
}

function stateOf(tool: ToolItem, stopping: boolean): State {
  switch (tool.outcome) {
    case 'success':
      return { word: 'Done', tone: 'done', icon: CheckIcon }
    case 'error':
      return { word: 'Failed', tone: 'failed', icon: ErrorIcon }
    case 'aborted':
      return { word: 'Stopped', tone: 'stopped', icon: StoppedIcon }
    case 'dropped':
      return { word: 'Finished, result dropped', tone: 'stopped', icon: StoppedIcon }
    case 'unconfirmed':
      return { word: 'Not confirmed: it may have run', tone: 'unsure', icon: QuestionIcon }
  }
  if (!tool.startedAt) return { word: 'Not started', tone: 'stopped', icon: ToolIcon }
  if (!stopping) return { word: 'Running', tone: 'live', icon: DotIcon }
  return { word: tool.abortable ? 'Stopping…' : 'Can’t be interrupted', tone: 'live', icon: DotIcon }
}

export const ToolRow = memo(function ToolRow({ tool, stopping }: { tool: ToolItem; stopping: boolean }) {
  const { childHref } = usePlace()
  const state = stateOf(tool, stopping)
  const Icon = state.icon
  const output = tool.output ?? tool.printed
  return (
    <details className="bl-tool" data-tone={state.tone}>
      <summary>
        <span className="bl-tool-chevron">
          <ChevronIcon />
        </span>
        <span className="bl-tool-name">{tool.name}</span>
        <span className="bl-tool-args">{brief(tool.args)}</span>
        <span className="bl-tool-state">
          <Icon />
          {state.word}
          {tool.durationMs !== undefined && <span className="bl-num"> · {duration(tool.durationMs)}</span>}
        </span>
      </summary>
      <div className="bl-tool-body">
        <h4>Arguments</h4>
        <pre tabIndex={0}>{pretty(tool.args) || '{}'}</pre>
        {output && (
          <>
            <h4>{tool.outcome ? 'Result' : 'Output so far'}</h4>
            <pre tabIndex={0}>{output}</pre>
          </>
        )}
        {tool.child && childHref && (
          <a className="bl-link" href={childHref(tool.child.run_id)}>
            Open the sub-agent’s session
          </a>
        )}
      </div>
    </details>
  )
})
