// The events of a session's journal, as api/client.yaml has them.
import type { components } from './api/client.gen.ts'

type Schemas = components['schemas']

interface Head {
  seq: number
  run_id: string
  created_at: string
}

type Of<E extends { type?: string; data?: unknown }> = Head & {
  type: NonNullable<E['type']>
  data: NonNullable<E['data']>
}

export type TurnStarted = Of<Schemas['TurnStartedEvent']>
export type TurnEnded = Of<Schemas['TurnEndedEvent']>
export type MessageEvent = Of<Schemas['MessageEvent']>
export type ToolStarted = Of<Schemas['ToolStartedEvent']>
export type ToolFinished = Of<Schemas['ToolFinishedEvent']>

export type Event =
  | TurnStarted
  | TurnEnded
  | MessageEvent
  | ToolStarted
  | ToolFinished
  | Of<Schemas['TurnPausedEvent']>
  | Of<Schemas['TurnStoppingEvent']>
  | Of<Schemas['TextDeltaEvent']>
  | Of<Schemas['ReasoningDeltaEvent']>
  | Of<Schemas['ToolOutputEvent']>
  | Of<Schemas['ActionRequestedEvent']>
  | Of<Schemas['ActionDecidedEvent']>

export type ToolOutcome = Schemas['ToolOutcome']
export type ActionType = Schemas['ActionType']
export type ActionState = Schemas['ActionState']
export type Tokens = Schemas['Tokens']
export type CallUsage = Schemas['CallUsage']

/** Deltas are display only: a message or a result that follows repeats them. */
export function isDelta(e: Event): boolean {
  return e.type === 'text.delta' || e.type === 'reasoning.delta' || e.type === 'tool.output'
}
