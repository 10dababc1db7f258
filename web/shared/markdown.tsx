// Model output as HTML. The one module that may set inner HTML: raw HTML in the
// text is shown as text, what the renderer makes of it passes DOMPurify, links are
// http(s) and mailto, and nothing remote is loaded.
import DOMPurify, { type Config } from 'dompurify'
import { Marked, type Token, type Tokens } from 'marked'
import { memo, useMemo, useRef, useSyncExternalStore } from 'react'

/** Highlight returns HTML of code, made of span elements with hljs- classes only. */
export type Highlight = (code: string, language: string) => string | undefined

let highlight: Highlight | undefined
const waiting = new Set<() => void>()

/** Sets what colours closed code fences; blocks on the page are drawn again. */
export function setHighlight(h: Highlight) {
  highlight = h
  for (const w of waiting) w()
}

function onHighlight(changed: () => void) {
  waiting.add(changed)
  return () => waiting.delete(changed)
}

const named: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

function escapeHtml(s: string): string {
  return s.replace(/[&<>"']/g, (c) => named[c] ?? c)
}

/** Says whether an address may be a link: absolute, and of a harmless scheme. */
export function isSafeLink(href: string): boolean {
  try {
    return ['http:', 'https:', 'mailto:'].includes(new URL(href).protocol)
  } catch {
    return false
  }
}

function link(href: string, inner: string): string {
  if (!isSafeLink(href)) return inner
  return `<a href="${escapeHtml(href)}" target="_blank" rel="noopener noreferrer nofollow">${inner}</a>`
}

const closedFence = /(^|\n) {0,3}(`{3,}|~{3,})[ \t]*\n?$/

function fence({ text, lang, raw }: Tokens.Code): string {
  const language = (lang ?? '').trim().split(/\s+/)[0] ?? ''
  const closed = closedFence.test(raw.replace(/\n+$/, '\n')) && raw.trim().includes('\n')
  const html = (closed && language && highlight?.(text, language)) || escapeHtml(text)
  return `<pre tabindex="0"><code${language ? ` data-lang="${escapeHtml(language)}"` : ''}>${html}\n</code></pre>\n`
}

const marked = new Marked({
  gfm: true,
  breaks: true,
  renderer: {
    html: ({ text }) => escapeHtml(text),
    image: ({ href, text }) => link(href, escapeHtml(text || href)),
    link({ href, tokens }) {
      return link(href, this.parser.parseInline(tokens))
    },
    code: fence,
    checkbox: ({ checked }) => (checked ? '☑ ' : '☐ '),
    table({ header, rows }) {
      const cell = (c: Tokens.TableCell, tag: string) =>
        `<${tag}${c.align ? ` align="${c.align}"` : ''}>${this.parser.parseInline(c.tokens)}</${tag}>`
      const row = (cells: Tokens.TableCell[], tag: string) => `<tr>${cells.map((c) => cell(c, tag)).join('')}</tr>`
      const body = rows.map((r) => row(r, 'td')).join('')
      return `<div class="md-table" tabindex="0"><table><thead>${row(header, 'th')}</thead><tbody>${body}</tbody></table></div>`
    },
  },
})

const policy: Config = {
  ALLOWED_TAGS: [
    ...['a', 'blockquote', 'br', 'code', 'del', 'div', 'em', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'hr', 'li', 'ol', 'p'],
    ...['pre', 'span', 'strong', 'table', 'tbody', 'td', 'th', 'thead', 'tr', 'ul'],
  ],
  ALLOWED_ATTR: ['href', 'target', 'rel', 'class', 'align', 'start', 'tabindex', 'data-lang'],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  // The expression is asked about every attribute but these, which hold no address.
  ADD_URI_SAFE_ATTR: ['target', 'rel', 'class', 'align', 'start', 'tabindex', 'data-lang'],
  ALLOWED_URI_REGEXP: /^(?:https?:|mailto:)/i,
}

function clean(html: string): string {
  return String(DOMPurify.sanitize(html, policy))
}

/** The blocks of a text: their raw texts, joined, are the text. */
export function blocks(text: string): Token[] {
  return marked.lexer(text)
}

/** The HTML of one block, safe to set. */
export function blockHtml(block: Token): string {
  return clean(marked.parser([block]))
}

/** A whole text as safe HTML. */
export function markdownHtml(text: string): string {
  return blocks(text).map(blockHtml).join('')
}

const Block = memo(
  function Block({ token }: { token: Token; coloured: boolean }) {
    return <div className="md-block" dangerouslySetInnerHTML={{ __html: blockHtml(token) }} />
  },
  (a, b) =>
    a.token.raw === b.token.raw &&
    a.token.type === b.token.type &&
    (a.coloured === b.coloured || a.token.type !== 'code'),
)

// A text that grows is split again from its last two blocks on only: those
// before them can't change any more.
interface Split {
  text: string
  tokens: Token[]
}

function grown(before: Split | undefined, text: string): Split {
  if (!before || !text.startsWith(before.text)) return { text, tokens: blocks(text) }
  const settled = before.tokens.slice(0, -2)
  const at = settled.reduce((n, t) => n + t.raw.length, 0)
  return { text, tokens: [...settled, ...blocks(text.slice(at))] }
}

/** Draws a text that may still grow. */
export function Markdown({ text, live = false }: { text: string; live?: boolean }) {
  const coloured = useSyncExternalStore(onHighlight, () => highlight !== undefined)
  const last = useRef<Split | undefined>(undefined)
  const tokens = useMemo(() => {
    const normal = text.replace(/\r\n?/g, '\n')
    last.current = live ? grown(last.current, normal) : { text: normal, tokens: blocks(normal) }
    return last.current.tokens
  }, [text, live])
  return (
    <div className="md">
      {tokens.map((t, i) => (t.type === 'space' ? null : <Block key={i} token={t} coloured={coloured} />))}
    </div>
  )
}
