import { beforeEach, describe, expect, it } from 'vitest'
import type { Event } from '../events.ts'
import { Problem } from '../problem.ts'
import { Journal } from '../testing/journal.ts'
import { ChatController, type Door, stubborn } from './controller.ts'

// A promise and its ends.
function later<T>() {
  let ok: (v: T) => void = () => undefined
  let fail: (e: unknown) => void = () => undefined
  const promise = new Promise<T>((a, b) => {
    ok = a
    fail = b
  })
  return { promise, ok, fail }
}

class FakeDoor implements Door {
  stops: (string | undefined)[] = []
  sent: string[] = []
  creating = later<string>()
  sending = later<{ runId: string }>()
  stopping = later<{ cancelled: boolean; runIds: string[] }>()
  tell: (events: Event[]) => void = () => undefined
  history: Event[] = []

  page = async () => ({ events: this.history, nextBefore: null, followAfter: this.history.at(-1)?.seq ?? 0 })
  create = () => this.creating.promise
  send = (_: string, text: string) => {
    this.sent.push(text)
    return this.sending.promise
  }
  stop = (_: string, run?: string) => {
    this.stops.push(run)
    return this.stopping.promise
  }
  decide = async () => undefined
  follow = (_: string, _after: number, f: { events: (e: Event[]) => void }) => {
    this.tell = (e) => f.events(e)
    return () => undefined
  }
}

const tick = () => new Promise((r) => setTimeout(r, 0))

describe('ChatController', () => {
  let door: FakeDoor
  let chat: ChatController
  const view = () => chat.snapshot()

  beforeEach(() => {
    door = new FakeDoor()
    chat = new ChatController({ door, frame: (flush) => flush() })
  })

  async function running(journal = new Journal().begin('r1', 'hi').say('one ')) {
    chat.setDraft('hi')
    void chat.send()
    door.creating.ok('s')
    await tick()
    door.sending.ok({ runId: 'r1' })
    await tick()
    door.tell(journal.events)
    return journal
  }

  it('can be stopped from the moment of sending until the end event', async () => {
    chat.setDraft('hi')
    expect(view().active).toBe(false)
    void chat.send()
    expect(view()).toMatchObject({ active: true, outbox: 'hi', draft: '' })
    door.creating.ok('s')
    await tick()
    expect(view().active).toBe(true)
    door.sending.ok({ runId: 'r1' })
    await tick()
    expect(view().active, 'sent, and not in the journal yet').toBe(true)
    const j = new Journal().begin('r1', 'hi').say('one')
    door.tell(j.events)
    expect(view()).toMatchObject({ active: true, outbox: undefined })
    door.tell(j.answer('one').end().events)
    expect(view().active).toBe(false)
  })

  it('says "stopping" from the click until the end event, not until the answer of the stop', async () => {
    const j = await running()
    void chat.stop()
    expect(view().stopping).toMatchObject({ mine: true })
    expect(door.stops).toEqual(['r1'])
    door.stopping.ok({ cancelled: true, runIds: ['r1'] })
    await tick()
    expect(view().stopping).toBeDefined()
    door.tell(j.stopping().answer('one ', { status: 'incomplete', stop_reason: 'cancelled' }).stopped().events)
    expect(view().stopping).toBeUndefined()
    expect(view().chat.turns[0]?.end?.stopReason).toBe('cancelled')
  })

  it('drops quietly to what the server says when there was nothing to stop', async () => {
    const j = await running()
    void chat.stop()
    door.stopping.ok({ cancelled: false, runIds: [] })
    await tick()
    expect(view()).toMatchObject({ stopping: undefined, notice: undefined })
    door.tell(j.answer('one ').end().events)
    expect(view().active).toBe(false)
  })

  it('goes back to Stop with the error when the stop failed', async () => {
    await running()
    void chat.stop()
    door.stopping.fail(new Problem(503, 'stop_not_recorded', 'The database is away.'))
    await tick()
    expect(view()).toMatchObject({ stopping: undefined, active: true, notice: { kind: 'stop_failed' } })
    expect(view().notice?.text).toContain('The database is away.')
  })

  it('never sends a message that was stopped before it went out: it is a draft again', async () => {
    chat.setDraft('hi')
    void chat.send()
    void chat.stop()
    expect(view().stopping).toBeDefined()
    door.creating.ok('s')
    await tick()
    expect(door.sent).toEqual([])
    expect(view()).toMatchObject({ draft: 'hi', active: false, stopping: undefined })
  })

  it('stops by session while the run is not known, and then the run itself', async () => {
    chat.setDraft('hi')
    void chat.send()
    door.creating.ok('s')
    await tick()
    void chat.stop()
    expect(door.stops).toEqual([undefined])
    door.stopping.ok({ cancelled: false, runIds: [] })
    await tick()
    expect(view().stopping, 'the message is still on its way').toBeDefined()
    door.sending.ok({ runId: 'r1' })
    await tick()
    expect(door.stops).toEqual([undefined, 'r1'])
  })

  it('keeps the draft while a turn runs and when another one was faster', async () => {
    await running()
    chat.setDraft('next')
    await chat.send()
    expect(door.sent).toEqual(['hi'])
    expect(view()).toMatchObject({ draft: 'next', notice: { kind: 'busy' } })
    void chat.stop()
    expect(door.sent).toEqual(['hi'])
    expect(view().draft).toBe('next')
  })

  it('keeps the draft of a busy 409', async () => {
    chat.setDraft('hi')
    void chat.send()
    door.creating.ok('s')
    await tick()
    door.sending.fail(new Problem(409, 'agent_run_conflict', 'busy', null, 'r0'))
    await tick()
    expect(view()).toMatchObject({ draft: 'hi', outbox: undefined, notice: { kind: 'busy' } })
  })

  it('moves the focus to the card when only a request waits', async () => {
    const j = new Journal().begin('r1', 'hi').add(
      {
        type: 'action.requested',
        data: { action_id: 'q', call_id: 'c', action_type: 'question', name: 'ask_user', arguments: {} },
      },
      { type: 'turn.paused', data: { actions: ['q'] } },
    )
    await running(j)
    expect(chat.maySend(), 'a new message takes the place of a waiting turn').toBe(true)
    void chat.stop()
    door.stopping.fail(new Problem(409, 'action_pending', 'a request is open'))
    await tick()
    expect(view()).toMatchObject({
      focusCard: 1,
      stopping: undefined,
      notice: { text: 'Answer the request above, or send a new message' },
    })
  })

  it('shows a stop that somebody else asked for, and names what can’t be interrupted', async () => {
    const j = await running(
      new Journal()
        .begin('r1', 'hi')
        .add({ type: 'tool.started', data: { call_id: 'c', name: 'send', arguments: {}, abortable: false } }),
    )
    door.tell(j.stopping('user:Bob').events)
    expect(view().stopping).toMatchObject({ mine: false })
    expect(stubborn(view())).toEqual(['send'])
  })

  it('takes its state from the server when it opens, also that nothing runs any more', async () => {
    const j = new Journal().begin('r1', 'hi').say('a').answer('a').end()
    door.history = [...j.events]
    chat = new ChatController({ door, sessionId: 's', frame: (flush) => flush() })
    await chat.open()
    expect(view()).toMatchObject({ status: 'ready', active: false })
    door.tell(j.begin('r2', 'again', 'portal', 'visitor:1').events)
    expect(view()).toMatchObject({ active: true, turn: { id: 'r2' } })
  })

  it('draws the events of a frame at once', async () => {
    let flush: () => void = () => undefined
    chat = new ChatController({ door, sessionId: 's', frame: (f) => (flush = f) })
    await chat.open()
    let drawn = 0
    chat.subscribe(() => drawn++)
    const j = new Journal().begin('r1', 'hi').say('a', 'b', 'c')
    for (const e of j.events) door.tell([e])
    expect(drawn).toBe(0)
    flush()
    expect(drawn).toBe(1)
    expect(view().chat.seq).toBe(j.events.at(-1)?.seq)
  })
})
