// Every page: looked at in light and dark, and judged by axe.
import { type Belay, expect, letIn, look, say, stopButton, stopped, test } from './belay.ts'

async function seed(belay: Belay) {
  for (let i = 0; i < 3; i++) {
    const { conversation } = await belay.ask('demo', `/slow ${60 + i}`, i % 2)
    await belay.api('POST', `/agents/conversations/${conversation}/cancel?wait_ms=5000`, {}, (i + 1) % 2)
  }
  await belay.api('POST', '/agents/responses', {
    model: 'demo',
    input: 'What is the weather like, and what should I wear for a walk?',
  })
  await belay.api('POST', '/agents/responses', { model: 'demo', input: '/error 500' }).catch(() => undefined)
  await belay.ask('approve', '/tool add {"a": 2, "b": 40}')
  await belay.ask('slow', '/tool wait {"seconds": 90}', 1)
  await belay.ask('demo', '/slow 600')
}

test.beforeAll(async ({ belay }) => seed(belay))

test('sign-in', async ({ page, belay }) => {
  await page.goto(`${belay.url}/studio`)
  await expect(page.getByLabel('E-mail')).not.toHaveValue('')
  await look(page, 'sign-in')
})

const pages: [name: string, path: string, ready: string][] = [
  ['agents', '/agents', 'Demo'],
  ['new-agent', '/agents/new', 'Instructions'],
  ['agent-editor', '/agents/demo', 'Playground'],
  ['agent-changes', '/agents/demo?tab=changes', 'Playground'],
  ['agent-versions', '/agents/demo?tab=versions', 'v1'],
  ['new-chat', '/agents/demo/chat', 'Send a message to begin'],
  ['sessions', '/sessions', 'What is the weather'],
  ['sessions-none', '/sessions?door=a2a', 'No session fits'],
  ['runs', '/runs', 'No background runs yet'],
  ['approvals', '/approvals', 'Needs approval'],
  ['operations', '/operations', 'How long stops took'],
  ['usage', '/usage', 'Cost by day'],
  ['audit', '/audit', 'dev'],
  ['portals', '/portals', 'Harbour office'],
  ['models', '/models', 'Shared tools'],
  ['tokens', '/tokens', 'dev'],
  ['members', '/members', 'Roles'],
  ['account', '/account', 'Change your password'],
  ['not-found', '/nowhere', 'no such page'],
]

for (const [name, path, ready] of pages) {
  test(`page: ${name}`, async ({ page, belay }) => {
    await letIn(page, belay)
    await page.goto(`${belay.url}/studio${path}`)
    await expect(page.getByText(ready).first()).toBeVisible()
    await page.waitForTimeout(600)
    await look(page, name)
  })
}

test('page: transcript, timeline and a turn looked into', async ({ page, belay }) => {
  await letIn(page, belay)
  await page.goto(`${belay.url}/studio/agents/demo/chat`)
  await say(page, '/echo # A heading\n/code alpha')
  await expect(page.getByText('The code word is alpha')).toBeVisible()
  await expect(page.getByRole('button', { name: 'Send' })).toBeVisible()
  await say(page, '/tool clock\n')
  await expect(page.locator('.bl-tool').first()).toBeVisible()
  await expect(page.getByRole('button', { name: 'Send' })).toBeVisible()
  await say(page, '/slow 300')
  await expect(page.getByText('Answering', { exact: true })).toBeVisible()
  await page.waitForTimeout(900)
  await look(page, 'transcript-live')
  await stopButton(page).click()
  await expect(stopped(page)).toBeVisible()
  await look(page, 'transcript-stopped')
  await page.getByRole('button', { name: 'Timeline' }).click()
  await expect(page.getByText('turn.ended').first()).toBeVisible()
  await look(page, 'transcript-timeline')
  await page
    .getByRole('button', { name: /^Details/ })
    .last()
    .click()
  await expect(page.getByText('Model calls')).toBeVisible()
  await page.waitForTimeout(300)
  await look(page, 'turn')
})

test('dialogs', async ({ page, belay }) => {
  await letIn(page, belay)
  await page.goto(`${belay.url}/studio/tokens`)
  await page.getByRole('button', { name: 'New token' }).click()
  await look(page, 'token-new')
  await page.getByLabel('Name', { exact: true }).fill('screens')
  await page.getByRole('button', { name: 'Make token' }).click()
  await expect(page.getByText('shown this once')).toBeVisible()
  await look(page, 'token-secret')
  await page.goto(`${belay.url}/studio/models`)
  await page.getByRole('button', { name: 'Add model' }).click()
  await look(page, 'model-new')
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'Add tool' }).click()
  await look(page, 'tool-new')
  await page.goto(`${belay.url}/studio/portals`)
  await page.getByRole('button', { name: 'Embed demo' }).click()
  await expect(page.frameLocator('iframe').getByText('Ask about ships and knots')).toBeVisible()
  await look(page, 'portal-demo')
})

test('small screen', async ({ page, belay }) => {
  await page.setViewportSize({ width: 420, height: 820 })
  await letIn(page, belay)
  await page.goto(`${belay.url}/studio/agents`)
  await expect(page.getByText('Demo').first()).toBeVisible()
  await look(page, 'small-agents')
  await page.goto(`${belay.url}/studio/agents/demo/chat`)
  await say(page, '/slow 100')
  await expect(stopButton(page)).toBeVisible()
  await page.waitForTimeout(600)
  await look(page, 'small-chat')
})
