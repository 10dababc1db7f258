import { act, render, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { describe, expect, it } from 'vitest'
import type { Event } from '../events.ts'
import { Journal } from '../testing/journal.ts'
import { Chat } from './Chat.tsx'
import { ChatController, type Door } from './controller.ts'

function chatWith(journal: Journal) {
  let tell: (e: Event[]) => void = () => undefined
  const asked: string[] = []
  const door: Door = {
    page: async () => ({
      events: journal.events.slice(),
      nextBefore: null,
      followAfter: journal.events.at(-1)?.seq ?? 0,
    }),
    send: async () => ({ runId: 'next' }),
    stop: async (_, run) => {
      asked.push(run ?? 'session')
      return { cancelled: true, runIds: [] }
    },
    decide: async () => undefined,
    follow: (_, after, f) => {
      tell = (e) => f.events(e.filter((x) => x.seq > after))
      return () => undefined
    },
  }
  const controller = new ChatController({ door, sessionId: 's', frame: (flush) => flush() })
  return { controller, asked, tell: () => act(() => tell(journal.events)) }
}

describe('Chat', () => {
  it('announces starts, stops and ends, not the text', async () => {
    const j = new Journal()
    const { controller, tell } = chatWith(j)
    render(<Chat controller={controller} />)
    await act(() => controller.open())
    const said = () => screen.getAllByRole('status').at(-1)
    j.begin('r1', 'hi').say('some words')
    tell()
    expect(said()).toHaveTextContent('The agent is answering')
    j.stopping()
    tell()
    expect(said()).toHaveTextContent('Stopping')
    j.answer('some words', { status: 'incomplete', stop_reason: 'cancelled' }).stopped()
    tell()
    expect(said()).toHaveTextContent('Stopped before it finished')
    expect(screen.getByRole('log')).toHaveAttribute('aria-live', 'off')
  })

  it('says nothing of what was there when it opened', async () => {
    const j = new Journal()
      .begin('r1', 'hi')
      .answer('x')
      .end({ status: 'failed', error: { code: 'provider_error', message: 'It broke' } })
    const { controller } = chatWith(j)
    render(<Chat controller={controller} />)
    await act(() => controller.open())
    expect(screen.queryByRole('alert')).toBeNull()
    expect(screen.getByText('It broke')).toBeInTheDocument()
  })

  it('stops by Esc in the chat, once, and keeps the draft', async () => {
    const user = userEvent.setup()
    const j = new Journal().begin('r1', 'hi').say('words')
    const { controller, asked } = chatWith(j)
    render(<Chat controller={controller} />)
    await act(() => controller.open())
    await user.type(screen.getByLabelText('Message'), 'a draft{Escape}{Escape}')
    expect(asked).toEqual(['r1'])
    expect(screen.getByLabelText('Message')).toHaveValue('a draft')
    expect(screen.getByRole('button', { name: 'Stopping…' })).toHaveAttribute('type', 'button')
  })

  it('leaves Esc to an editor of arguments that is open', async () => {
    const user = userEvent.setup()
    const j = new Journal().begin('r1', 'hi').add(
      {
        type: 'action.requested',
        data: { action_id: 'q', call_id: 'c', action_type: 'approval', name: 'pay', arguments: { sum: 1 } },
      },
      { type: 'turn.paused', data: { actions: ['q'] } },
    )
    const { controller, asked } = chatWith(j)
    const { Place } = await import('./context.ts')
    render(
      <Place.Provider value={{ who: (id) => id, door: 'studio', mayApprove: true, mayAnswer: true }}>
        <Chat controller={controller} />
      </Place.Provider>,
    )
    await act(() => controller.open())
    await user.click(screen.getByRole('button', { name: 'Edit arguments' }))
    await user.type(screen.getByLabelText('Arguments as JSON'), '{Escape}')
    expect(asked).toEqual([])
    expect(screen.queryByLabelText('Arguments as JSON')).toBeNull()
    expect(screen.getByRole('button', { name: 'Stop the answer' })).toBeVisible()
  })
})
