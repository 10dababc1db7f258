// What the chat calls things.
import type { ActionItem, TurnEnd } from '../reducer.ts'

/** Where a turn came from: "in the portal". */
export function doorWord(door: string): string {
  switch (door) {
    case 'studio':
      return 'in Studio'
    case 'portal':
      return 'in the portal'
    case 'a2a':
      return 'over A2A'
    default:
      return 'over the API'
  }
}

/** How a turn ended, if that is not just "answered". Failures are said elsewhere. */
export function endWord(end: TurnEnd): string | undefined {
  if (end.stopReason === 'cancelled') {
    switch (end.stopDetail ?? end.stop?.detail) {
      case 'superseded':
        return 'Ended by the next message'
      case 'parent_stopped':
        return 'Stopped with the turn that asked for it'
      default:
        return 'Stopped before it finished'
    }
  }
  if (end.stopReason === 'limit')
    return `Ended at its limit${end.stopDetail ? `: ${end.stopDetail.replaceAll('_', ' ')}` : ''}`
  return undefined
}

/** What became of a request, with who decided it. */
export function decided(action: ActionItem, who: (id: string) => string): string {
  const by = action.by ? ` by ${who(action.by)}` : ''
  switch (action.state) {
    case 'approved':
      return action.type === 'question' ? `Answered${by}` : `Approved${by}`
    case 'denied':
      return action.type === 'question' ? `Declined${by}` : `Rejected${by}`
    case 'withdrawn':
      return 'Withdrawn: the turn was stopped'
    case 'expired':
      return 'Expired: nobody decided in time'
    default:
      return 'Waiting'
  }
}

export function pretty(value: unknown): string {
  if (value === undefined) return ''
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2)
}

/** Short text of a call's arguments for a line. */
export function brief(value: unknown): string {
  if (value === undefined || value === null) return ''
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text === '{}' ? '' : text.length > 90 ? `${text.slice(0, 89)}…` : text
}
