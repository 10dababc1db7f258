// Stop, as people meet it: from the composer, by Esc, from another tab, through the
// other node, before the first token, with a draft, with approvals open.
import { answer, answerText, Belay, binary, expect, say, signIn, stopButton, stopped, test } from './belay.ts'

test.beforeEach(async ({ page, belay }) => {
  await signIn(page, belay)
})

async function begin(
  page: import('@playwright/test').Page,
  belay: Belay,
  text = '/slow 400',
  agent = 'demo',
  node = 0,
) {
  await page.goto(`${belay.nodes[node]}/studio/agents/${agent}/chat`)
  await say(page, text)
}

test('from the composer: the partial answer stays, exactly, also after a reload', async ({ page, belay }) => {
  await begin(page, belay)
  await expect(stopButton(page)).toBeVisible()
  await page.waitForFunction(() => (document.querySelector('.bl-answer')?.textContent?.length ?? 0) > 60)
  await stopButton(page).click()
  await expect(stopped(page)).toBeVisible()
  const text = await answerText(page)
  expect(text.length).toBeGreaterThan(50)
  await page.waitForTimeout(1500)
  expect(await answerText(page), 'after the end nothing grows or shrinks').toBe(text)
  await page.reload()
  await expect(stopped(page)).toBeVisible()
  expect(await answerText(page)).toBe(text)
  await expect(stopButton(page)).toBeHidden()
  // The session takes the next message at once, and the model has seen the partial.
  await say(page, 'And now?')
  await expect(answer(page)).toContainText(/cut short|stopped|cancel|You said/i)
})

test('"Stopping…" within a frame of the click, until the end event', async ({ page, belay }) => {
  // A tool that can't be interrupted keeps the turn in that state.
  await begin(page, belay, '/tool stubborn {"seconds": 7}', 'deaf')
  await expect(page.locator('.bl-tool')).toContainText('Running')
  const frames = await page.evaluate(async () => {
    const stop = document.querySelector<HTMLButtonElement>('.bl-stop')
    stop?.click()
    let frames = 0
    while (!stop?.textContent?.includes('Stopping…')) {
      await new Promise(requestAnimationFrame)
      frames++
    }
    return frames
  })
  expect(frames).toBeLessThanOrEqual(1)
  await expect(page.locator('.bl-tool')).toContainText('Can’t be interrupted')
  await expect(page.getByText(/Still stopping: stubborn can’t be interrupted/)).toBeVisible()
  await expect(stopped(page)).toBeVisible()
  await expect(page.locator('.bl-tool')).toContainText('Finished, result dropped')
})

test('before the first token, and never sends a draft', async ({ page, belay }) => {
  await begin(page, belay, '/wait 20s')
  await expect(stopButton(page)).toBeVisible()
  const composer = page.getByLabel('Message', { exact: true })
  await composer.fill('a draft of mine')
  await expect(stopButton(page), 'Stop stays, whatever is typed').toBeVisible()
  await composer.press('Enter')
  await expect(composer).toHaveValue('a draft of mine')
  await stopButton(page).click()
  await expect(stopped(page)).toBeVisible()
  await expect(composer).toHaveValue('a draft of mine')
  await expect(page.locator('.bl-user')).toHaveCount(1)
})

test('at the very moment of sending', async ({ page, belay }) => {
  await page.goto(`${belay.url}/studio/agents/demo/chat`)
  await page.getByLabel('Message', { exact: true }).fill('/slow 300')
  await page.getByRole('button', { name: 'Send' }).click()
  await stopButton(page).click()
  // Either it never went out, and is a draft again, or it was stopped.
  await expect(async () => {
    const draft = await page.getByLabel('Message', { exact: true }).inputValue()
    const end = await page.getByText('Stopped before it finished').count()
    expect(draft === '/slow 300' || end >= 1).toBe(true)
  }).toPass({ timeout: 10_000 })
  await expect(stopButton(page)).toBeHidden()
  await page.waitForTimeout(1000)
  await expect(page.getByText('Answering', { exact: true })).toBeHidden()
})

test('by Esc, with focus in the chat alone, and not while something else owns it', async ({ page, belay }) => {
  await begin(page, belay, '/slow 600')
  await expect(page.getByText('Answering', { exact: true })).toBeVisible()
  await page.getByRole('link', { name: 'Sessions' }).focus()
  await page.keyboard.press('Escape')
  await page.waitForTimeout(300)
  await expect(page.getByText('Answering', { exact: true }), 'Esc elsewhere').toBeVisible()
  // Composing in an input method: its Esc is not ours.
  const composer = page.getByLabel('Message', { exact: true })
  await composer.evaluate((el) =>
    el.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', isComposing: true, bubbles: true })),
  )
  await page.waitForTimeout(300)
  await expect(page.getByText('Answering', { exact: true }), 'Esc of an input method').toBeVisible()
  await composer.focus()
  await page.keyboard.press('Escape')
  await expect(stopped(page)).toBeVisible()
})

test('focus: Send hands it to Stop, and Stop back', async ({ page, belay }) => {
  await page.goto(`${belay.url}/studio/agents/demo/chat`)
  await page.getByLabel('Message', { exact: true }).fill('/slow 400')
  await page.getByRole('button', { name: 'Send' }).focus()
  await page.keyboard.press('Enter')
  await expect(stopButton(page)).toBeFocused()
  await expect(page.locator('.bl-answer')).toBeVisible()
  await expect(page.locator('button.bl-stop')).toHaveAttribute('type', 'button')
  await page.keyboard.press('Enter')
  await expect(stopped(page)).toBeVisible()
  await expect(page.getByRole('button', { name: 'Send' })).toBeFocused()
})

// Case 80: both see all of it.
test('from a second tab, for a turn that was begun over the API on the other node', async ({
  page,
  belay,
  context,
}) => {
  const { conversation } = await belay.ask('demo', '/slow 600', 1)
  const path = `/studio/agents/demo/sessions/${conversation}`
  await page.goto(belay.url + path)
  const second = await context.newPage()
  await second.goto(belay.url + path)
  await expect(page.getByText(/Started by dev over the API/)).toBeVisible()
  await expect(second.getByText(/Started by dev over the API/)).toBeVisible()
  await stopButton(second).click()
  await expect(stopped(second)).toBeVisible()
  await expect(stopped(page)).toBeVisible()
  expect(await answerText(page)).toBe(await answerText(second))
})

// Case 82: followers on both nodes see the one end.
test('watched and stopped through the second node, in a second browser', async ({ page, belay, browser }) => {
  await begin(page, belay, '/slow 600')
  await expect(answer(page)).toBeVisible()
  await page.waitForURL(/sessions\//)
  const path = new URL(page.url()).pathname
  const elsewhere = await browser.newContext()
  const other = await elsewhere.newPage()
  await signIn(other, belay, 1)
  await other.goto(belay.other + path)
  await expect(answer(other)).toBeVisible()
  await stopButton(other).click()
  await expect(stopped(other)).toBeVisible()
  await expect(stopped(page)).toBeVisible()
  expect(await answerText(page)).toBe(await answerText(other))
  await elsewhere.close()
})

test('from Live operations, and found there afterwards', async ({ page, belay }) => {
  const { conversation } = await belay.ask('demo', '/slow 600', 1)
  await page.goto(`${belay.url}/studio/operations`)
  await page.getByRole('button', { name: new RegExp(`Stop the turn of demo, session ${conversation}`) }).click()
  await expect(page.getByRole('button', { name: new RegExp(conversation) })).toHaveCount(1)
  await expect(page.getByText('Who stopped what')).toBeVisible()
  await page
    .getByRole('row')
    .filter({ hasText: 'Demo owner' })
    .getByRole('button', { name: /^Details/ })
    .first()
    .click()
  await expect(page.getByText(/Stopped by Demo owner in Studio on node-1/)).toBeVisible()
})

test('reload mid-stream picks the live turn up again', async ({ page, belay }) => {
  await begin(page, belay, '/slow 600')
  await page.waitForFunction(() => (document.querySelector('.bl-answer')?.textContent?.length ?? 0) > 60)
  const before = await answerText(page)
  await page.reload()
  await expect(stopButton(page)).toBeVisible()
  await expect(answer(page)).toContainText(before.slice(0, 40))
  await page.waitForFunction(
    (n) => (document.querySelector('.bl-answer')?.textContent?.length ?? 0) > n + 20,
    before.length,
  )
  expect((await answerText(page)).startsWith(before.trimEnd())).toBe(true)
  await stopButton(page).click()
  await expect(stopped(page)).toBeVisible()
})

test('seven tabs: Stop leaves the browser', async ({ page, belay, context }) => {
  const talks = await Promise.all(Array.from({ length: 7 }, (_, i) => belay.ask('demo', '/slow 900', i % 2)))
  const tabs = [page, ...(await Promise.all(Array.from({ length: 6 }, () => context.newPage())))]
  for (const [i, tab] of tabs.entries())
    await tab.goto(`${belay.url}/studio/agents/demo/sessions/${talks[i]?.conversation}`)
  for (const tab of tabs) await expect(answer(tab)).toBeVisible()
  const last = tabs.at(-1) ?? page
  await stopButton(last).click()
  await expect(stopped(last)).toBeVisible({ timeout: 5000 })
  for (const tab of tabs.slice(0, 6)) {
    await stopButton(tab).click()
    await expect(stopped(tab)).toBeVisible({ timeout: 5000 })
  }
})

// Cases 91 to 93.
test('approval open: Stop is there, the card says what became of it, also after a reload', async ({ page, belay }) => {
  await begin(page, belay, '/tool add {"a": 1, "b": 2}', 'approve')
  await expect(page.getByText('Needs approval')).toBeVisible()
  await page.reload()
  await expect(page.getByText('Needs approval')).toBeVisible()
  await stopButton(page).click()
  await expect(page.getByText('Withdrawn: the turn was stopped')).toBeVisible()
  await expect(page.getByRole('button', { name: 'Approve', exact: true })).toHaveCount(0)
  await page.reload()
  await expect(page.getByText('Withdrawn: the turn was stopped')).toBeVisible()
  await say(page, 'Next')
  await expect(answer(page)).toContainText(/Next/)
})

test('approval: approved as edited, from the chat and from the inbox by keyboard', async ({ page, belay }) => {
  await begin(page, belay, '/tool add {"a": 1, "b": 2}', 'approve')
  await page.getByRole('button', { name: 'Edit arguments' }).click()
  await page.getByLabel('Arguments as JSON').fill('{"a": 20, "b": 22}')
  await page.getByRole('button', { name: 'Approve as edited' }).click()
  await expect(answer(page)).toContainText('42')
  const { conversation } = await belay.ask('approve', '/tool add {"a": 3, "b": 4}')
  await page.goto(`${belay.url}/studio/approvals`)
  await expect(page.getByText('Needs approval').first()).toBeVisible()
  await page.getByRole('listitem').first().focus()
  await page.keyboard.press('r')
  await expect(page.getByText('Rejected', { exact: true })).toBeVisible()
  await page.goto(`${belay.url}/studio/agents/approve/sessions/${conversation}`)
  await expect(page.getByText(/Rejected by you/)).toBeVisible()
})

test('busy: the draft is kept and the running turn is shown', async ({ page, belay }) => {
  await begin(page, belay, '/fast 5')
  await page.waitForURL(/sessions\//)
  await expect(page.getByRole('button', { name: 'Send' })).toBeVisible()
  const id = page.url().split('/').at(-1)
  // Another client is faster; this page has not heard of it when it sends.
  await page.route('**/messages', async (route) => {
    await belay.ask('demo', '/slow 300', 0, `resp_${id}`)
    await new Promise((r) => setTimeout(r, 500))
    await route.continue()
  })
  await say(page, 'my words')
  await expect(page.getByLabel('Message', { exact: true })).toHaveValue('my words')
  await expect(stopButton(page)).toBeVisible()
  await stopButton(page).click()
  await expect(stopped(page)).toBeVisible()
  await expect(page.getByLabel('Message', { exact: true })).toHaveValue('my words')
})

test('a stop that fails says so and goes back to Stop', async ({ page, belay }) => {
  await begin(page, belay, '/slow 600')
  await expect(answer(page)).toBeVisible()
  await page.route('**/cancel', (route) =>
    route.fulfill({
      status: 503,
      contentType: 'application/json',
      body: JSON.stringify({
        error: { type: 'unavailable', code: 'stop_not_recorded', message: 'The database is away.', param: null },
      }),
    }),
  )
  await stopButton(page).click()
  await expect(page.getByRole('alert')).toContainText('Not stopped: The database is away.')
  await expect(stopButton(page)).toBeEnabled()
  await page.unroute('**/cancel')
  await stopButton(page).click()
  await expect(stopped(page)).toBeVisible()
})

test('server killed mid-stream and back: a polite banner, then the truth', async ({ page }) => {
  test.setTimeout(180_000)
  const own = new Belay(process.env.BELAY_BIN ?? binary(), 8671)
  await own.start()
  try {
    await signIn(page, own)
    await begin(page, own, '/slow 900')
    await expect(answer(page)).toBeVisible()
    await own.stop('SIGKILL')
    await expect(page.getByText(/Connection lost/).first()).toBeVisible()
    await expect(stopButton(page)).toBeEnabled()
    const before = (await answerText(page)).trimEnd()
    await own.start()
    await expect(page.getByText(/Connection lost/)).toHaveCount(0, { timeout: 40_000 })
    // Nobody runs the turn any more: the cluster ends it, and the page says so.
    await expect(stopButton(page)).toBeHidden({ timeout: 60_000 })
    const after = (await answerText(page)).trimEnd()
    expect(after.startsWith(before) || before.startsWith(after), `${before} | ${after}`).toBe(true)
  } finally {
    await own.stop()
  }
})
