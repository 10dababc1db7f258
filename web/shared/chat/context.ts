import { createContext, useContext } from 'react'

/** What a chat needs to know of the page it is on. */
export interface ChatPlace {
  /** The name to show for a principal. */
  who: (id: string) => string
  /** The principal at this screen. */
  me?: string
  /** Which door this is. */
  door: string
  mayApprove: boolean
  mayAnswer: boolean
  /** The address of the page of a sub-agent's turn, where there is one. */
  childHref?: (runId: string) => string
}

export const Place = createContext<ChatPlace>({ who: (id) => id, door: 'studio', mayApprove: false, mayAnswer: false })

export const usePlace = () => useContext(Place)
