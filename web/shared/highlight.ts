// Colours for code, loaded after the page: see setHighlight of markdown-engine.
import hljs from 'highlight.js/lib/core'
import bash from 'highlight.js/lib/languages/bash'
import css from 'highlight.js/lib/languages/css'
import diff from 'highlight.js/lib/languages/diff'
import go from 'highlight.js/lib/languages/go'
import javascript from 'highlight.js/lib/languages/javascript'
import json from 'highlight.js/lib/languages/json'
import python from 'highlight.js/lib/languages/python'
import rust from 'highlight.js/lib/languages/rust'
import sql from 'highlight.js/lib/languages/sql'
import typescript from 'highlight.js/lib/languages/typescript'
import xml from 'highlight.js/lib/languages/xml'
import yaml from 'highlight.js/lib/languages/yaml'
import { setEngine } from './markdown.tsx'
import { engine, setHighlight } from './markdown-engine.ts'

const languages = { bash, css, diff, go, javascript, json, python, rust, sql, typescript, xml, yaml }
for (const [name, language] of Object.entries(languages)) hljs.registerLanguage(name, language)

const longest = 50_000

setHighlight((code, language) =>
  hljs.getLanguage(language) && code.length <= longest ? hljs.highlight(code, { language }).value : undefined,
)

// A new engine, so that what is on the page is drawn again with colours.
setEngine({ ...engine })
