import { render, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { useState } from 'react'
import { describe, expect, it } from 'vitest'
import { type Doc, Fields, get, type Spec, set } from './forms.tsx'

describe('a document by paths', () => {
  it('is read and written through lists, and left as it was', () => {
    const doc = { tools: [{ key: 'a' }, { key: 'b', mcp: { url: 'x' } }] }
    expect(get(doc, 'tools[1].mcp.url')).toBe('x')
    expect(get(doc, 'tools[7].mcp.url')).toBeUndefined()
    expect(set(doc, 'tools[1].mcp.url', 'y')).toEqual({ tools: [{ key: 'a' }, { key: 'b', mcp: { url: 'y' } }] })
    expect(doc.tools[1]).toEqual({ key: 'b', mcp: { url: 'x' } })
  })

  it('loses what was left empty', () => {
    expect(set({ a: 1, limits: { cost: 2 } }, 'limits.cost', undefined)).toEqual({ a: 1 })
  })
})

function Form({ specs, start, said }: { specs: Spec[]; start: Doc; said: (d: Doc) => void }) {
  const [doc, setDoc] = useState(start)
  const change = (d: Doc) => {
    setDoc(d)
    said(d)
  }
  return (
    <Fields
      specs={specs}
      doc={doc}
      onChange={change}
      prefix="config"
      faults={[]}
      warnings={[{ field: 'config.open', message: 'Nobody can come in' }]}
    />
  )
}

describe('a check', () => {
  it('says only what differs from what holds without it', async () => {
    let doc: Doc = {}
    const specs: Spec[] = [
      { path: 'open', label: 'Open', kind: 'check', otherwise: true },
      { path: 'loud', label: 'Loud', kind: 'check' },
    ]
    render(<Form specs={specs} start={{}} said={(d) => (doc = d)} />)
    const open = screen.getByRole('checkbox', { name: 'Open' })
    const loud = screen.getByRole('checkbox', { name: 'Loud' })
    expect(open).toBeChecked()
    expect(loud).not.toBeChecked()
    await userEvent.click(open)
    await userEvent.click(loud)
    expect(doc).toEqual({ open: false, loud: true })
    expect(open).not.toBeChecked()
    await userEvent.click(open)
    await userEvent.click(loud)
    expect(doc).toEqual({})
    expect(open).toHaveAccessibleDescription('Nobody can come in')
  })
})
