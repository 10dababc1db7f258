import { render } from '@testing-library/react'
import { describe, expect, it } from 'vitest'
import { Markdown } from './markdown.tsx'
import './markdown-install.ts'
import { blockHtml, blocks, isSafeLink, markdownHtml } from './markdown-engine.ts'
import { dice } from './testing/journal.ts'
import { payloads } from './testing/xss.ts'

const dangerous = 'script,iframe,img,svg,math,form,input,style,link,base,meta,object,embed,[style],[id],[src],[srcdoc]'

function judge(root: Element) {
  expect(root.querySelector(dangerous)).toBeNull()
  for (const el of root.querySelectorAll('*')) {
    for (const a of el.attributes) expect(a.name).not.toMatch(/^on/)
  }
  for (const a of root.querySelectorAll('a[href]')) expect(a.getAttribute('href')).toMatch(/^(https?:|mailto:)/)
}

function parsed(html: string): Element {
  return new DOMParser().parseFromString(html, 'text/html').body
}

describe('markdown', () => {
  it.each(payloads)('makes text of %s', (p) => {
    judge(parsed(markdownHtml(p)))
    judge(parsed(markdownHtml(`before ${p} after\n\n> ${p}\n\n- ${p}`)))
    const { container } = render(<Markdown text={p} live />)
    judge(container)
    expect((window as unknown as { pwned?: number }).pwned).toBeUndefined()
  })

  it('makes text of payloads that are joined, cut and nested at random', () => {
    const roll = dice(42)
    for (let i = 0; i < 150; i++) {
      const pick = () => payloads[roll(payloads.length)] ?? ''
      const a = pick()
      judge(parsed(markdownHtml(a.slice(0, roll(a.length)) + pick() + pick().slice(roll(5)))))
    }
  })

  it('shows raw HTML as it was written', () => {
    expect(parsed(markdownHtml('a <b>bold</b> claim')).textContent).toContain('a <b>bold</b> claim')
  })

  it('loads nothing remote: an image is a link to it', () => {
    const body = parsed(markdownHtml('![chart](https://a.example/c.png)'))
    expect(body.querySelector('a')?.getAttribute('href')).toBe('https://a.example/c.png')
  })

  it('opens links elsewhere and tells them nothing', () => {
    const a = parsed(markdownHtml('[x](https://a.example)')).querySelector('a')
    expect(a?.getAttribute('rel')).toBe('noopener noreferrer nofollow')
    expect(a?.getAttribute('target')).toBe('_blank')
  })

  it.each([
    'javascript:alert(1)',
    ' javascript:1',
    'java\nscript:1',
    'data:text/html,x',
    '//a.example',
    '/path',
    'file:///x',
    '',
  ])('refuses %j as a link', (href) => expect(isSafeLink(href)).toBe(false))

  it('draws a text that grows as it draws it whole', () => {
    const text =
      '# Title\n\nSome *text*\nmore\n\n- a\n- b\n  1. c\n\n```go\nfunc main() {}\n```\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n\nTitle\n===\n\nend'
    const roll = dice(7)
    const { container, rerender } = render(<Markdown text="" live />)
    for (let n = 0; n < text.length; n += 1 + roll(5)) rerender(<Markdown text={text.slice(0, n)} live />)
    rerender(<Markdown text={text} live />)
    const grown = container.innerHTML
    rerender(<Markdown text={text} />)
    expect(grown).toBe(container.innerHTML)
  })

  it('keeps the elements of settled blocks while the last one grows', () => {
    const { container, rerender } = render(<Markdown text={'one\n\ntwo\n\nthr'} live />)
    const first = container.querySelector('p')
    rerender(<Markdown text={'one\n\ntwo\n\nthree\n\nfour'} live />)
    expect(container.querySelector('p')).toBe(first)
  })

  it('colours closed fences only', async () => {
    await import('./highlight.ts')
    const html = (s: string) => blocks(s).map(blockHtml).join('')
    expect(html('```go\nfunc main() {')).not.toContain('hljs-')
    expect(html('```go\nfunc main() {}\n```')).toContain('hljs-')
    expect(html('```go\nfunc main() {}\n```\n\nmore')).toContain('hljs-')
    expect(html('```nolang\nx\n```')).not.toContain('hljs-')
    judge(parsed(html('```html\n<img src=x onerror=alert(1)>\n```')))
  })
})

// The rule that keeps all this true.
describe('the source', () => {
  it('sets inner HTML in one module only', () => {
    const sources = import.meta.glob<string>(
      ['../**/*.{ts,tsx}', '!../node_modules/**', '!../dist/**', '!./markdown.tsx', '!../**/*.test.*'],
      {
        query: '?raw',
        import: 'default',
        eager: true,
      },
    )
    expect(Object.keys(sources).length).toBeGreaterThan(5)
    for (const [name, text] of Object.entries(sources)) {
      expect(text, name).not.toMatch(
        /innerHTML|outerHTML|insertAdjacentHTML|dangerouslySetInnerHTML|document\.write|srcdoc=/,
      )
    }
  })
})
