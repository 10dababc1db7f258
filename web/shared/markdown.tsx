// Draws model output. The one module that may set inner HTML, and only what an
// engine has made safe; until there is one the text is shown as it is.
import { memo, useMemo, useRef, useSyncExternalStore } from 'react'

export interface BlockToken {
  type: string
  raw: string
}

/** Splits a text into blocks, whose raw texts joined are the text, and renders each as safe HTML. */
export interface Engine {
  blocks: (text: string) => BlockToken[]
  blockHtml: (block: BlockToken) => string
}

let current: Engine | undefined
const waiting = new Set<() => void>()

/** Sets what renders; what is on the page is drawn again. */
export function setEngine(engine: Engine) {
  current = engine
  for (const w of waiting) w()
}

function onEngine(changed: () => void) {
  waiting.add(changed)
  return () => waiting.delete(changed)
}

const Block = memo(
  function Block({ token, engine }: { token: BlockToken; engine: Engine }) {
    return <div className="md-block" dangerouslySetInnerHTML={{ __html: engine.blockHtml(token) }} />
  },
  (a, b) =>
    a.token.raw === b.token.raw && a.token.type === b.token.type && (a.engine === b.engine || a.token.type !== 'code'),
)

// Most of what streams is plain prose in one long paragraph: while it grows it is
// drawn as text, which costs the same however long it is.
const marks = /[\\`*_[\]<>&!~|#\n@]|:\/\/|www\./

function isPlain(t: BlockToken): boolean {
  return t.type === 'paragraph' && !marks.test(t.raw)
}

function Plain({ text }: { text: string }) {
  return (
    <div className="md-block">
      <p>{text}</p>
    </div>
  )
}

// A text that grows is split again from its last two blocks on only: those
// before them can't change any more.
interface Split {
  text: string
  tokens: BlockToken[]
}

function grown(engine: Engine, before: Split | undefined, text: string): Split {
  if (!before || !text.startsWith(before.text)) return { text, tokens: engine.blocks(text) }
  const settled = before.tokens.slice(0, -2)
  const at = settled.reduce((n, t) => n + t.raw.length, 0)
  return { text, tokens: [...settled, ...engine.blocks(text.slice(at))] }
}

/** Draws a text that may still grow. */
export function Markdown({ text, live = false }: { text: string; live?: boolean }) {
  const engine = useSyncExternalStore(
    onEngine,
    () => current,
    () => current,
  )
  const last = useRef<Split | undefined>(undefined)
  const tokens = useMemo(() => {
    if (!engine) return []
    const normal = text.replace(/\r\n?/g, '\n')
    last.current = live ? grown(engine, last.current, normal) : { text: normal, tokens: engine.blocks(normal) }
    return last.current.tokens
  }, [engine, text, live])
  if (!engine) return <div className="md md-plain">{text}</div>
  return (
    <div className="md">
      {tokens.map((t, i) => {
        if (t.type === 'space') return null
        const growing = live && i === tokens.length - 1
        if (growing && isPlain(t)) return <Plain key={i} text={t.raw} />
        return <Block key={i} token={t} engine={engine} />
      })}
    </div>
  )
}
