// What Studio manages: portals and their visitors, background runs, shared tools.
import { createHmac } from 'node:crypto'
import type { APIRequestContext } from '@playwright/test'
import { answer, type Belay, expect, letIn, look, say, stopButton, stopped, test } from './belay.ts'
import { site } from './site.ts'

const secret = 'the secret of a test, which has 32 bytes and more'

test('a portal is made, tried beside its snippet, kept for named visitors, paused and deleted', async ({
  page,
  context,
  belay,
}) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: belay.url })
  await letIn(page, belay)
  await page.goto(`${belay.url}/studio/portals`)
  await page.getByRole('button', { name: 'New portal' }).click()
  await page.getByLabel('Slug').fill('desk')
  await page.getByLabel('Agent', { exact: true }).selectOption('demo')
  await page.getByLabel('Title').fill('The desk')
  await page.getByLabel('Welcome').fill('Good morning.')
  await page.getByLabel('Sites that may embed it').fill('https://example.com/path')
  await page.getByRole('button', { name: 'Make portal' }).click()
  await expect(page.getByText('must be an origin such as')).toBeVisible()
  await page.getByLabel('Sites that may embed it').fill('https://example.com')
  await look(page, 'portal-new')
  await page.getByRole('button', { name: 'Make portal' }).click()

  const preview = page.frameLocator('iframe[title="Preview of The desk"]')
  await expect(preview.getByText('Good morning.')).toBeVisible()
  await preview.getByLabel('Message', { exact: true }).fill('/echo seen by a visitor')
  await preview.getByLabel('Message', { exact: true }).press('Enter')
  await expect(preview.locator('.bl-answer')).toContainText('seen by a visitor')
  await look(page, 'portal-preview')
  await page.getByRole('button', { name: 'Copy' }).first().click()
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(
    `<script src="${belay.url}/embed.js" data-portal="desk" async></script>`,
  )
  await page.getByRole('button', { name: 'Close', exact: true }).click()

  const row = page.getByRole('row').filter({ hasText: 'The desk' })
  await row.getByRole('button', { name: 'Edit' }).click()
  await page.getByLabel('Anyone may chat').uncheck()
  await expect(page.getByText('Nobody can come in')).toBeVisible()
  await page.getByLabel('Secret for named visitors').fill('short')
  await page.getByRole('button', { name: 'Save' }).click()
  await expect(page.getByText(/32/).first()).toBeVisible()
  await page.getByLabel('Secret for named visitors').fill(secret)
  await page.getByRole('button', { name: 'Save' }).click()
  await expect(row).toContainText('only named ones')

  // The secret is shown nowhere again, and stays when it is left empty.
  await row.getByRole('button', { name: 'Edit' }).click()
  await expect(page.getByLabel('Secret for named visitors')).toHaveValue('')
  await expect(page.getByText('One is stored; leave this empty to keep it')).toBeVisible()
  await page.getByLabel('Paused: answers nobody').check()
  await page.getByRole('button', { name: 'Save' }).click()
  await expect(row).toContainText('Paused')
  await expect(row).toContainText('only named ones')
  expect((await page.request.get(`${belay.url}/p/desk`)).status()).toBe(404)
  await row.getByRole('button', { name: 'Embed' }).click()
  await expect(page.getByRole('heading', { name: 'Paused' })).toBeVisible()
  await page.getByRole('button', { name: 'Close', exact: true }).click()

  await row.getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('button', { name: 'Delete portal' }).click()
  await expect(row).toHaveCount(0)
})

// As the server of a site would: HS256 over header and claims.
function tokenFor(sub: string, name: string): string {
  const part = (v: unknown) => Buffer.from(JSON.stringify(v)).toString('base64url')
  const said = `${part({ alg: 'HS256', typ: 'JWT' })}.${part({ sub, name, exp: Math.floor(Date.now() / 1000) + 600 })}`
  return `${said}.${createHmac('sha256', secret).update(said).digest('base64url')}`
}

test('a visitor whom the site has named keeps the conversations from one browser to another', async ({
  page,
  browser,
  belay,
}) => {
  await letIn(page, belay)
  const config = { agent: 'demo', title: 'Members', anonymous: false, origins: ['http://127.0.0.1:8090'] }
  const made = await page.request.post(`${belay.url}/api/portals`, { data: { slug: 'members', config, secret } })
  expect(made.status(), await made.text()).toBe(201)
  const html = (token: string) =>
    `<!doctype html><html lang="en"><title>A site</title><h1>A site</h1>
    <script src="${belay.url}/embed.js" data-portal="members" ${token && `data-token="${token}"`} async></script></html>`
  const their = await site(
    {
      '/ada': { html: html(tokenFor('u-1', 'Ada')) },
      '/ben': { html: html(tokenFor('u-2', 'Ben')) },
      '/stranger': { html: html('') },
    },
    8090,
  )
  const open = async (path: string) => {
    const p = await (await browser.newContext()).newPage()
    await p.goto(`${their.url}${path}`)
    await p.getByRole('button', { name: 'Open the chat' }).click()
    return p
  }
  try {
    const first = await open('/ada')
    await say(first, '/slow 300')
    await expect(answer(first)).toBeVisible()

    const second = await open('/ada')
    await second.getByRole('button', { name: 'Conversations' }).click()
    await second.locator('.bl-conversations li button').first().click()
    await stopButton(second).click()
    await expect(stopped(second)).toBeVisible()
    await expect(stopped(first), 'where it was asked for').toBeVisible()

    const ben = await open('/ben')
    await ben.getByRole('button', { name: 'Conversations' }).click()
    await expect(ben.getByText('You have no conversations yet.')).toBeVisible()

    const stranger = await open('/stranger')
    await expect(stranger.getByText('people who have signed in')).toBeVisible()
    await expect(stranger.getByLabel('Message', { exact: true })).toHaveCount(0)
    await look(stranger, 'embed-stranger')

    await page.goto(`${belay.url}/studio/sessions?door=portal`)
    await expect(page.getByRole('row').filter({ hasText: 'visitor u-1 of members' }).first()).toBeVisible()
    for (const p of [first, second, ben, stranger]) await p.context().close()
  } finally {
    await their.close()
    await page.request.delete(`${belay.url}/api/portals/members`)
  }
})

async function background(belay: Belay, input: string, node: number) {
  return belay.api<{ conversation_id: string }>(
    'POST',
    '/agents/responses',
    { model: 'demo', input, background: true },
    node,
  )
}

test('background runs: many are stopped at once, each with its result', async ({ page, belay }) => {
  for (let i = 0; i < 3; i++) await background(belay, '/slow 900', i % 2)
  await background(belay, '/echo done at once', 0)
  await letIn(page, belay)
  await page.goto(`${belay.url}/studio/runs`)
  await expect(page.getByRole('link', { name: /^Running\s*3$/ })).toBeVisible()
  await expect(page.getByRole('link', { name: /^Finished\s*[1-9]/ })).toBeVisible()
  await page.getByLabel('Select all that can be stopped').check()
  await look(page, 'runs-filled')
  await page.getByRole('button', { name: 'Stop 3 selected' }).click()
  const dialog = page.getByRole('dialog', { name: 'Stop 3 runs?' })
  await dialog.getByRole('button', { name: 'Stop 3 runs' }).click()
  await expect(dialog.getByText('Told to stop')).toHaveCount(3)
  await look(page, 'runs-stopped')
  await dialog.getByRole('button', { name: 'Done' }).click()
  await expect(page.getByRole('link', { name: /^Running\s*0$/ })).toBeVisible()
  await page.getByRole('link', { name: /^Stopped\s*3$/ }).click()
  await expect(page.getByRole('row').filter({ hasText: 'by Demo owner' })).toHaveCount(3)
})

const document = JSON.stringify({
  openapi: '3.1.0',
  info: { title: 'Tides', version: '1' },
  servers: [{ url: 'https://tides.example' }],
  paths: {
    '/tides/{harbour}': {
      get: {
        operationId: 'tides_of',
        summary: 'High and low water of a harbour',
        parameters: [{ name: 'harbour', in: 'path', required: true, schema: { type: 'string' } }],
        responses: { '200': { description: 'The tides.' } },
      },
    },
  },
})

async function addTool(request: APIRequestContext, belay: Belay, key: string, config: unknown) {
  const made = await request.post(`${belay.url}/api/tools?unchecked=true`, { data: { key, config } })
  expect(made.status(), await made.text()).toBe(201)
}

test('a shared tool is checked: what it offers, or what is wrong', async ({ page, belay }) => {
  await letIn(page, belay)
  await addTool(page.request, belay, 'tides', { source: 'openapi', openapi: { document } })
  await addTool(page.request, belay, 'away', { source: 'mcp', mcp: { url: 'http://127.0.0.1:9/mcp' } })
  await page.goto(`${belay.url}/studio/models`)
  await page.getByRole('button', { name: 'Check tides' }).click()
  const dialog = page.getByRole('dialog')
  await expect(dialog.getByText('tides_of')).toBeVisible()
  await expect(dialog.getByText('High and low water of a harbour')).toBeVisible()
  await look(page, 'tool-check')
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'Check away' }).click()
  await expect(dialog.getByRole('alert')).toBeVisible()
  await look(page, 'tool-check-fault')
  await page.keyboard.press('Escape')
  for (const key of ['tides', 'away']) await page.request.delete(`${belay.url}/api/tools/${key}`)
})

test('figures: each chart is a table too', async ({ page, belay }) => {
  for (const node of [0, 1]) {
    const { conversation } = await belay.ask('demo', '/slow 300', 0)
    await belay.api('POST', `/agents/conversations/${conversation}/cancel?wait_ms=5000`, {}, node)
  }
  await letIn(page, belay)
  const charts: [path: string, title: string, column: string, value: RegExp][] = [
    ['/operations', 'From a stop to the end of its turn', 'same node', /^[1-9]/],
    ['/usage', 'Cost by day', 'Stopped calls', /^\$/],
    ['/usage', 'Tokens by day', 'Output', /^[1-9]/],
    ['/usage', 'Share of stopped calls', 'Stopped calls', /^[1-9]\d* %/],
    ['/usage', 'Time to first text', 'Median', /^\d/],
    ['/usage', 'Turns by outcome', 'Stopped', /^[1-9]/],
  ]
  for (const [path, title, column, value] of charts) {
    if (!page.url().endsWith(path)) await page.goto(`${belay.url}/studio${path}`)
    const figure = page.getByRole('figure').filter({ hasText: title })
    await expect(figure.getByRole('img', { name: title })).toBeVisible()
    await figure.getByText('As a table').click()
    await expect(figure.getByRole('columnheader', { name: column })).toBeVisible()
    const at = (await figure.getByRole('columnheader').allTextContents()).indexOf(column)
    const cells = await figure.locator(`tbody td:nth-child(${at + 1})`).allTextContents()
    expect(
      cells.some((c) => value.test(c)),
      `${title}: ${cells.filter((c) => c !== '–').join(' ')}`,
    ).toBe(true)
  }
  await page.goto(`${belay.url}/studio/operations`)
  const paths = page.getByRole('table').filter({ hasText: 'p95' })
  await expect(paths.getByRole('row', { name: /^same node [1-9]/ })).toBeVisible()
  await expect(paths.getByRole('row', { name: /^other node, (pushed|polled) [1-9]/ }).first()).toBeVisible()
})
