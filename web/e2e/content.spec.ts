// What is shown: hostile texts, long transcripts, long answers.
import { payloads } from '../shared/testing/xss.ts'
import { answer, answerText, expect, say, signIn, stopButton, stopped, test } from './belay.ts'
import { balancer } from './site.ts'

test.beforeEach(async ({ page, belay }) => {
  await signIn(page, belay)
})

test('payloads in answers, questions, titles, names and tools come out as text', async ({ page, belay }) => {
  test.setTimeout(180_000)
  await page.addInitScript(() => {
    Object.assign(window, { pwned: 0 })
    window.alert = () => Object.assign(window, { pwned: 1 })
  })
  const remote: string[] = []
  page.on('request', (r) => {
    if (!r.url().startsWith(belay.url)) remote.push(r.url())
  })
  await page.goto(`${belay.url}/studio/agents/demo/chat`)
  for (const p of payloads.filter((p) => !p.includes('\n')).slice(0, 24)) {
    await say(page, `/echo ${p}`)
    await expect(page.getByRole('button', { name: 'Send' })).toBeVisible()
  }
  const evil = '<img src=x onerror="window.pwned=1">'
  await page.request.patch(`${belay.url}/api/agents/boss`, { data: { name: evil } })
  await say(page, `/tool ${'clock'} {"note": ${JSON.stringify(evil)}}`)
  await expect(page.locator('.bl-tool').last()).toBeVisible()
  await page.locator('.bl-tool summary').last().click()
  for (const path of ['/agents', '/sessions', '/operations', '/agents/boss', '/usage']) {
    await page.goto(`${belay.url}/studio${path}`)
    await page.waitForTimeout(400)
  }
  await page.goBack()
  await expect(page.getByText(evil).first()).toBeVisible()
  expect(await page.evaluate(() => (window as unknown as { pwned: number }).pwned)).toBe(0)
  expect(remote.filter((u) => !u.startsWith('blob:') && !u.startsWith('data:'))).toEqual([])
  await page.request.patch(`${belay.url}/api/agents/boss`, { data: { name: 'Boss' } })
})

test('a transcript of 2,000 messages opens at its end and goes back', async ({ page, belay }) => {
  test.setTimeout(300_000)
  const first = await belay.api<{ conversation_id: string }>('POST', '/responses', {
    model: 'demo',
    input: '/fast 3\nmessage 0',
  })
  const id = first.conversation_id
  for (let i = 1; i < 1000; i++) {
    await belay.api('POST', '/responses', {
      model: 'demo',
      input: `/fast 3\nmessage ${i}`,
      previous_response_id: `resp_${id}`,
    })
  }
  const began = Date.now()
  await page.goto(`${belay.url}/studio/agents/demo/sessions/${id}`)
  await expect(page.getByText('message 999').last()).toBeVisible()
  console.log('2,000 messages, last one visible after ms:', Date.now() - began)
  expect(await page.locator('.bl-turn').count()).toBeLessThan(100)
  const older = page.getByRole('button', { name: 'Show earlier messages' })
  await older.click()
  await expect(page.getByText('message 930').first()).toBeAttached()
  await say(page, '/slow 200')
  await expect(stopButton(page)).toBeVisible()
  await stopButton(page).click()
  await expect(stopped(page)).toBeVisible()
})

// Cases 78 and 90: a cut connection is resumed where it was; nothing twice, nothing lost.
test('the connection is cut again and again: the text is the stored one', async ({ page, belay }) => {
  const way = await balancer(belay.url)
  try {
    await page.goto(`${way.url}/studio/sign-in`)
    await page.getByLabel('E-mail').fill(belay.email)
    await page.getByLabel('Password').fill(belay.password)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await expect(page.getByRole('heading', { name: 'Agents' })).toBeVisible()
    await page.goto(`${way.url}/studio/agents/demo/chat`)
    await say(page, '/slow 120')
    await expect(answer(page)).toBeVisible()
    for (let i = 0; i < 4; i++) {
      way.cut(true)
      await page.waitForTimeout(i === 1 ? 3000 : 300)
      if (i === 1)
        await expect(page.getByText(/Connection lost; the agent keeps working|Connection lost/).first()).toBeVisible()
      way.cut(false)
      await page.waitForTimeout(1500)
    }
    await expect(page.getByRole('button', { name: 'Send' })).toBeVisible({ timeout: 60_000 })
    const live = await answerText(page)
    await page.reload()
    await expect(answer(page)).toBeVisible()
    expect(live).toBe(await answerText(page))
  } finally {
    await way.close()
  }
})

test('the editor: validation as it is typed, draft, publish, difference, roll back', async ({ page, belay }) => {
  await page.goto(`${belay.url}/studio/agents/new`)
  await page.getByLabel('Key').fill('editor-test')
  await page.getByRole('button', { name: 'Make agent' }).click()
  await expect(page.getByRole('heading', { name: 'Playground' })).toBeVisible()
  await page.getByLabel('Temperature').fill('9')
  await expect(page.getByText('must be between 0 and 2')).toBeVisible()
  await expect(page.getByLabel('Temperature')).toHaveAttribute('aria-invalid', 'true')
  await expect(page.getByRole('button', { name: 'Publish' })).toBeDisabled()
  await page.getByLabel('Temperature').fill('0.5')
  await expect(page.getByLabel('Temperature')).not.toHaveAttribute('aria-invalid', 'true')
  await page.getByLabel('Instructions').fill('First words')
  // The playground saves what it tries.
  await say(page, 'Hello')
  await expect(answer(page)).toContainText('Hello')
  await expect(page.getByText('Not saved')).toBeHidden()
  await page.getByRole('button', { name: 'Publish' }).click()
  await expect(page.getByText('v1 published')).toBeVisible()
  await page.getByLabel('Instructions').fill('Second words')
  await page.getByRole('tab', { name: 'Changes' }).click()
  await expect(page.locator('.diff [data-kind="+"]').filter({ hasText: 'Second words' })).toBeVisible()
  await expect(page.locator('.diff [data-kind="-"]').filter({ hasText: 'First words' })).toBeVisible()
  await page.getByRole('button', { name: 'Publish' }).click()
  await expect(page.getByText('v2 published')).toBeVisible()
  await page.getByRole('tab', { name: 'Versions' }).click()
  await page.getByRole('button', { name: 'Roll back to v1' }).click()
  await expect(page.getByText('v3 published')).toBeVisible()
  await page.getByRole('tab', { name: 'Configuration' }).click()
  await page.getByRole('button', { name: 'Delete agent' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete agent' }).click()
  await expect(page.getByRole('heading', { name: 'Agents' })).toBeVisible()
})
