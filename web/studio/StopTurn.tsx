import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { explain } from '../shared/problem.ts'
import { StopButton } from '../shared/ui/StopButton.tsx'
import { api, must } from './api.ts'
import { useToast } from './ui.tsx'

interface Props {
  runId: string
  /** The server says that it is stopping. */
  stopping: boolean
  what: string
}

/** Stop in a row: at once, and "Stopping…" until the row says that it has ended. */
export function StopTurn({ runId, stopping, what }: Props) {
  const [asked, setAsked] = useState<string>()
  const toast = useToast()
  const queries = useQueryClient()
  useEffect(() => {
    if (asked && asked !== runId) setAsked(undefined)
  }, [asked, runId])
  const stop = async () => {
    setAsked(runId)
    try {
      const { cancelled } = await must(api.POST('/runs/{runId}/cancel', { params: { path: { runId } }, body: {} }))
      if (!cancelled) setAsked(undefined)
      for (const key of ['sessions', 'runs', 'run']) void queries.invalidateQueries({ queryKey: [key] })
    } catch (e) {
      setAsked(undefined)
      toast(`Not stopped: ${explain(e)}`)
    }
  }
  return <StopButton compact stopping={stopping || asked === runId} onStop={() => void stop()} label={`Stop ${what}`} />
}
