// The real binary for browser tests: two nodes over a Postgres of their own.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import AxeBuilder from '@axe-core/playwright'
import { type BrowserContext, test as base, type Cookie, expect, type Page } from '@playwright/test'

const web = resolve(import.meta.dirname, '..')
export const artifacts = join(web, 'artifacts')

// BELAY_BIN names a binary that is built already.
function binary(): string {
  if (process.env.BELAY_BIN) return process.env.BELAY_BIN
  if (!existsSync(join(web, 'dist/index.html'))) throw new Error('the user interface is not built: npm run build')
  mkdirSync(artifacts, { recursive: true })
  const bin = join(artifacts, 'belay')
  execFileSync('go', ['build', '-o', bin, './cmd/belay'], { cwd: resolve(web, '..'), stdio: 'inherit' })
  return bin
}

export class Belay {
  readonly nodes: string[]
  email = ''
  password = ''
  token = ''
  cookies: Cookie[] | undefined
  private child: ChildProcess | undefined

  constructor(
    private readonly bin: string,
    private readonly port: number,
    private readonly data = mkdtempSync(join(tmpdir(), 'belay-e2e-')),
    private readonly env: Record<string, string> = {},
  ) {
    this.nodes = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${port + 1}`]
  }

  get url(): string {
    return this.nodes[0] ?? ''
  }

  get other(): string {
    return this.nodes[1] ?? ''
  }

  async start() {
    const args = ['dev', '--nodes', '2', '--addr', `127.0.0.1:${this.port}`, '--data', this.data]
    const child = spawn(this.bin, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...this.env } })
    this.child = child
    let said = ''
    child.stdout?.on('data', (b: Buffer) => {
      said += b.toString()
    })
    child.stderr?.on('data', (b: Buffer) => {
      said += b.toString()
    })
    for (let i = 0; ; i++) {
      const ready = await fetch(`${this.url}/readyz`).then(
        (r) => r.ok,
        () => false,
      )
      const token = /belay_[0-9a-f]{64}/.exec(said)?.[0]
      if (ready && token) {
        this.token = token
        break
      }
      if (child.exitCode !== null || i > 600) throw new Error(`belay did not start:\n${said}`)
      await new Promise((r) => setTimeout(r, 100))
    }
    const hint = await fetch(`${this.url}/api/auth/hint`)
    if (!hint.ok) return
    const { email, password } = (await hint.json()) as { email: string; password: string }
    this.email = email
    this.password = password
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM') {
    const child = this.child
    this.child = undefined
    if (!child || child.exitCode !== null) return
    child.kill(signal)
    await once(child, 'exit')
  }

  /** Calls the client API as a program. */
  async api<T>(method: string, path: string, body?: unknown, node = 0): Promise<T> {
    const res = await fetch(`${this.nodes[node]}/api/client/v1${path}`, {
      method,
      headers: { Authorization: `Bearer ${this.token}`, 'Content-Type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
    })
    if (!res.ok) throw new Error(`${method} ${path}: ${res.status} ${await res.text()}`)
    return (await res.json()) as T
  }

  /** Begins a turn that nobody waits for; returns when it has begun. */
  async ask(agent: string, input: string, node = 0, after?: string): Promise<{ conversation: string }> {
    const res = await fetch(`${this.nodes[node]}/api/client/v1/agents/responses`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${this.token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ model: agent, input, stream: true, previous_response_id: after }),
    })
    const reader = res.body?.getReader()
    let text = ''
    while (reader && !/"conversation_id":"([0-9a-f]+)"/.test(text)) {
      const { value, done } = await reader.read()
      if (done) break
      text += new TextDecoder().decode(value)
    }
    void reader?.cancel()
    const conversation = /"conversation_id":"([0-9a-f]+)"/.exec(text)?.[1]
    if (!conversation) throw new Error(`no turn began: ${text.slice(0, 300)}`)
    return { conversation }
  }
}

/** Lets a page in with a sign-in that was made before: what is tried is not signing in. */
export async function letIn(page: Page, belay: Belay) {
  if (!belay.cookies) {
    const { email, password } = belay
    const answer = await page.request.post(`${belay.url}/api/auth/sign-in`, { data: { email, password } })
    expect(answer.ok(), await answer.text()).toBe(true)
    belay.cookies = await page.context().cookies()
  }
  await page.context().addCookies(belay.cookies)
}

/** Signs a page in, on a node. */
export async function signIn(page: Page, belay: Belay, node = 0) {
  await page.goto(`${belay.nodes[node]}/studio/sign-in`)
  await page.getByLabel('E-mail').fill(belay.email)
  await page.getByLabel('Password').fill(belay.password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await expect(page.getByRole('heading', { name: 'Agents' })).toBeVisible()
}

/** Sends a message from the composer of the page. */
export async function say(page: Page, text: string) {
  await page.getByLabel('Message', { exact: true }).fill(text)
  await page.getByLabel('Message', { exact: true }).press('Enter')
}

export const stopButton = (page: Page) => page.getByRole('button', { name: 'Stop the answer' })
export const stopped = (page: Page) => page.getByText('Stopped before it finished').last()
export const answer = (page: Page) => page.locator('.bl-answer').last()

/** The text of the last answer, once it has begun. */
export async function answerText(page: Page): Promise<string> {
  await expect(answer(page)).toBeVisible()
  return ((await answer(page).textContent()) ?? '').replace(/^Agent:\s*/, '')
}

/** Keeps a picture of the page in light and in dark; each is there to be judged meanwhile. */
export async function pictures(page: Page, name: string, judge?: (scheme: string) => Promise<void>) {
  for (const scheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme: scheme, reducedMotion: 'reduce' })
    await page.waitForTimeout(150)
    await page.screenshot({ path: join(artifacts, 'screens', `${name}-${scheme}.png`) })
    await judge?.(scheme)
  }
}

/** The same, and axe finds nothing wrong in either. */
export const look = (page: Page, name: string) =>
  pictures(page, name, async (scheme) => {
    const { violations } = await new AxeBuilder({ page })
      .withTags(['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'])
      .analyze()
    const words = violations.map(
      (v) =>
        `${v.id}: ${v.nodes
          .map((n) => `${n.target} ${n.failureSummary?.split('\n')[1] ?? ''}`)
          .slice(0, 4)
          .join(' | ')}`,
    )
    expect.soft(words, `${name}, ${scheme}`).toEqual([])
  })

interface Fixtures {
  belay: Belay
}

export const test = base.extend<{ context: BrowserContext }, Fixtures>({
  belay: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright wants a pattern
    async ({}, use) => {
      const belay = new Belay(binary(), Number(process.env.BELAY_E2E_PORT ?? 8571))
      await belay.start()
      await use(belay)
      await belay.stop()
    },
    { scope: 'worker', timeout: 240_000 },
  ],
  // A page that says something is wrong fails its test.
  page: async ({ page }, use) => {
    const wrong: string[] = []
    page.on('pageerror', (e) => wrong.push(String(e)))
    page.on('console', (m) => {
      if (m.type() === 'error' && !/Failed to load resource|ERR_|blocked by CORS policy/.test(m.text()))
        wrong.push(m.text())
    })
    await use(page)
    expect(wrong, 'errors of the page').toEqual([])
  },
})

export { binary, expect }
