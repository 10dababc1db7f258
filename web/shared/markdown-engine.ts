// Model output as safe HTML: raw HTML in the text is shown as text, what the
// renderer makes of it passes DOMPurify, links are http(s) and mailto, and nothing
// remote is loaded.
import DOMPurify, { type Config } from 'dompurify'
import { Marked, type Token, type Tokens } from 'marked'
import type { Engine } from './markdown.tsx'

/** Highlight returns HTML of code, made of span elements with hljs- classes only. */
export type Highlight = (code: string, language: string) => string | undefined

let highlight: Highlight | undefined

/** Sets what colours closed code fences from now on. */
export function setHighlight(h: Highlight) {
  highlight = h
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
  return clean(marked.parser([block])).trimEnd()
}

/** A whole text as safe HTML. */
export function markdownHtml(text: string): string {
  return blocks(text).map(blockHtml).join('')
}

export const engine: Engine = { blocks, blockHtml }
