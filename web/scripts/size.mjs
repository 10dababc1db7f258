// Fails where a page loads more than it may before it is of use. Sizes are of gzip.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'

const dist = new URL('../dist/', import.meta.url).pathname
const size = (file) => gzipSync(readFileSync(join(dist, file)), { level: 9 }).length
const kb = (n) => `${(n / 1024).toFixed(1)} KB`

// What a page names, and what that imports at once.
function firstLoad(page) {
  const html = readFileSync(join(dist, page), 'utf8')
  const files = new Set([page])
  const add = (file) => {
    if (files.has(file)) return
    files.add(file)
    if (!file.endsWith('.js')) return
    const js = readFileSync(join(dist, file), 'utf8')
    for (const [, name] of js.matchAll(/(?:^|[;}\n])import(?:[^"'()]*?from)?["']\.\/([^"']+\.js)["']/g))
      add(`assets/${name}`)
  }
  for (const [, name] of html.matchAll(/(?:src|href)="\/(assets\/[^"]+\.(?:js|css))"/g)) add(name)
  return [...files].reduce((sum, f) => sum + size(f), 0)
}

const checks = [
  ['Studio, first load', firstLoad('index.html'), 200],
  ['portal, first load', firstLoad('portal.html'), 200],
  ['embed.js', size('embed.js'), 45],
  ['embed-markdown.js, when opened', size('embed-markdown.js'), 30],
]
let bad = false
for (const [what, bytes, limit] of checks) {
  const over = bytes > limit * 1024
  bad ||= over
  console.log(`${over ? 'TOO LARGE ' : ''}${what}: ${kb(bytes)} of ${limit} KB`)
}
console.log(`files: ${readdirSync(join(dist, 'assets')).length}`)
process.exit(bad ? 1 : 0)
