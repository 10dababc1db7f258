// Gives the engine to the component, at once: for pages that bring both.
import { setEngine } from './markdown.tsx'
import { engine } from './markdown-engine.ts'

setEngine(engine)
