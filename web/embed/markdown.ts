// embed-markdown.js: gives the renderer of answers to the chat that asked for it.
import type { Engine } from '../shared/markdown.tsx'
import { engine } from '../shared/markdown-engine.ts'

declare global {
  var belayMarkdown: ((engine: Engine) => void) | undefined
}

globalThis.belayMarkdown?.(engine)
