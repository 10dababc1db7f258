// Visitors: the hosted page, and the embed on pages of others. The demo's portal
// lets pages of port 8090 in.
import type { Page } from '@playwright/test'
import { answer, answerText, expect, look, pictures, say, stopButton, stopped, test } from './belay.ts'
import { site, withPages } from './site.ts'

let home: { url: string; close: () => Promise<void> }

test.beforeAll(async ({ belay }) => {
  home = await withPages(belay.url)
})
test.afterAll(() => home.close())

test('the page: chat, stop, reload picks the live turn up again', async ({ page }) => {
  await page.goto(`${home.url}/p/demo`)
  await expect(page.getByText('Ask about ships and knots')).toBeVisible()
  await look(page, 'portal')
  await say(page, '/slow 300')
  await page.waitForFunction(() => (document.querySelector('.bl-answer')?.textContent?.length ?? 0) > 60)
  const before = (await answerText(page)).trimEnd()
  await page.reload()
  await expect(stopButton(page)).toBeVisible()
  await expect(answer(page)).toContainText(before.slice(0, 30))
  await look(page, 'portal-live')
  await stopButton(page).click()
  await expect(stopped(page)).toBeVisible()
  const text = await answerText(page)
  await page.reload()
  await expect(stopped(page)).toBeVisible()
  expect(await answerText(page)).toBe(text)
  await page.getByRole('button', { name: 'Conversations' }).click()
  await expect(page.locator('.bl-conversations li')).toHaveCount(1)
  await look(page, 'portal-conversations')
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'New' }).click()
  await expect(page.getByText('Ask about ships and knots')).toBeVisible()
})

test('closing the page does not stop the turn', async ({ page, context }) => {
  await page.goto(`${home.url}/p/demo`)
  await say(page, '/slow 60')
  await expect(answer(page)).toBeVisible()
  await page.waitForURL(/#c=/)
  const url = page.url()
  await page.close()
  const again = await context.newPage()
  await again.goto(url)
  await expect(answer(again)).toBeVisible()
  await expect(again.getByRole('button', { name: 'Send' })).toBeVisible({ timeout: 30_000 })
  await expect(again.getByText('Stopped before it finished')).toHaveCount(0)
  expect((await answerText(again)).length).toBeGreaterThan(150)
})

const question = '/tool ask_user {"question": "Which knot?", "options": ["Bowline", "Clove hitch"]}'

test('a question is open: Stop says what to do and goes to the card; a new message is taken instead', async ({
  page,
}) => {
  await page.goto(`${home.url}/p/demo`)
  await say(page, question)
  await expect(page.getByText('Which knot?', { exact: true })).toBeVisible()
  await look(page, 'portal-question')
  await stopButton(page).click()
  await expect(page.getByText('Answer the request above, or send a new message')).toBeVisible()
  await expect(page.locator('fieldset.bl-card')).toBeFocused()
  await expect(page.getByRole('button', { name: 'Bowline' })).toBeEnabled()
  await say(page, 'Never mind')
  await expect(answer(page)).toContainText('Never mind')
  await expect(page.getByRole('button', { name: 'Bowline' })).toHaveCount(0)
  await expect(page.getByRole('button', { name: 'Send' })).toBeVisible()
  await expect(stopButton(page)).toBeHidden()
  await say(page, question)
  await page.getByRole('button', { name: 'Clove hitch' }).click()
  await expect(answer(page)).toContainText('Clove hitch')
})

const hostile = `* { color: red !important; display: inline-block !important; font: 30px serif !important; opacity: .2 !important;
  visibility: hidden !important; pointer-events: none !important; transform: rotate(9deg) !important } belay-chat { display: none !important }
  :root { --ink: red; --surface: red; --accent: lime }`

function host(belay: { url: string }, extra = '', policy?: string) {
  const html = `<!doctype html><html lang="en"><title>A site</title>${extra && `<style>${extra}</style>`}<h1>A site of somebody</h1><p>Its own words.</p>
    <script src="${belay.url}/embed.js" data-portal="demo" async></script></html>`
  return { html, headers: policy ? { 'Content-Security-Policy': policy } : undefined }
}

async function openEmbed(page: Page, url: string) {
  await page.goto(url)
  await page.getByRole('button', { name: 'Open the chat' }).click()
  await expect(page.getByText('Ask about ships and knots')).toBeVisible()
}

test('embedded on another origin, under hostile CSS', async ({ page }) => {
  const their = await site({ '/': host(home), '/hostile': host(home, hostile) }, 8090)
  try {
    await openEmbed(page, `${their.url}/hostile`)
    await say(page, '/slow 200')
    await expect(answer(page)).toBeVisible()
    const style = await answer(page).evaluate((el) => {
      const s = getComputedStyle(el)
      return [s.opacity, s.visibility, s.color, s.fontSize]
    })
    expect(style[0]).toBe('1')
    expect(style[1]).toBe('visible')
    expect(style[2]).not.toBe('rgb(255, 0, 0)')
    expect(style[3]).toBe('15px')
    await stopButton(page).click()
    await expect(stopped(page)).toBeVisible()
    await pictures(page, 'embed-hostile')
    // The page's own look is not touched by ours.
    await page.goto(`${their.url}/`)
    expect(
      await page.getByRole('heading', { name: 'A site of somebody' }).evaluate((el) => getComputedStyle(el).fontFamily),
    ).not.toContain('Inter')
    await page.getByRole('button', { name: 'Open the chat' }).click()
    await expect(stopped(page), 'the conversation goes on where it was').toBeVisible()
    await look(page, 'embed')
    await page.setViewportSize({ width: 420, height: 800 })
    await pictures(page, 'embed-small')
  } finally {
    await their.close()
  }
})

test('embedded under a strict policy of the page', async ({ page }) => {
  const policy = `default-src 'none'; script-src ${home.url}; connect-src ${home.url}; style-src 'none'`
  const their = await site({ '/': host(home, '', policy) }, 8090)
  try {
    await page.goto(their.url)
    await page.getByRole('button', { name: 'Open the chat' }).click()
    await say(page, '/echo **bold** words')
    await expect(answer(page).locator('strong')).toHaveText('bold')
    await expect(page.locator('.bl-panel')).toHaveCSS('position', 'fixed')
  } finally {
    await their.close()
  }
})

test('a site that the portal does not name gets nothing', async ({ page }) => {
  const their = await site({ '/': host(home) })
  try {
    await page.goto(their.url)
    await page.getByRole('button', { name: 'Open the chat' }).click()
    await expect(page.getByText('The server can’t be reached.')).toBeVisible()
  } finally {
    await their.close()
  }
})
