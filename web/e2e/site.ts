// Servers that stand for sites of others, and for a balancer before the nodes.
import { existsSync, readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A site: its pages by path, with the headers that it sends. */
export async function site(pages: Record<string, { html: string; headers?: Record<string, string> }>, port = 0) {
  const server = createServer((req, res) => {
    const page = pages[req.url?.split('?')[0] ?? '/']
    if (!page) {
      res.writeHead(404).end()
      return
    }
    res.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8', ...page.headers }).end(page.html)
  })
  return { url: await listen(server, port), close: () => close(server) }
}

const dist = new URL('../dist/', import.meta.url)
const kinds: Record<string, string> = {
  js: 'text/javascript',
  css: 'text/css',
  html: 'text/html',
  woff2: 'font/woff2',
  svg: 'image/svg+xml',
}

/** The server itself where it serves portals' pages; else what was built before it. */
export async function withPages(to: string): Promise<{ url: string; close: () => Promise<void> }> {
  const page = await fetch(`${to}/p/demo`)
  if (page.ok) return { url: to, close: async () => undefined }
  const server = createServer((req, res) => {
    const path = (req.url ?? '/').split('?')[0] ?? '/'
    const file = path.startsWith('/p/') ? 'portal.html' : path.slice(1)
    if (path.startsWith('/api/') || !existsSync(new URL(file, dist))) {
      forward(to, req, res)
      return
    }
    res.writeHead(200, { 'Content-Type': kinds[file.split('.').at(-1) ?? ''] ?? 'text/plain' })
    res.end(readFileSync(new URL(file, dist)))
  })
  return { url: await listen(server), close: () => close(server) }
}

function forward(to: string, req: IncomingMessage, res: ServerResponse) {
  const out = request(to + (req.url ?? ''), { method: req.method, headers: req.headers }, (answer) => {
    res.writeHead(answer.statusCode ?? 502, answer.headers)
    answer.pipe(res)
  })
  out.on('error', () => res.destroy())
  res.on('close', () => out.destroy())
  req.pipe(out)
}

/** A way to a node that can be cut: streams that are open break, new ones are refused. */
export async function balancer(to: string) {
  let cut = false
  const server = createServer((req, res) => {
    if (cut) {
      res.destroy()
      return
    }
    forward(to, req, res)
  })
  return {
    url: await listen(server),
    cut: (off: boolean) => {
      cut = off
      if (off) server.closeAllConnections()
    },
    close: () => close(server),
  }
}

function listen(server: Server, port = 0): Promise<string> {
  return new Promise((done) => {
    server.listen(port, '127.0.0.1', () => done(`http://127.0.0.1:${(server.address() as AddressInfo).port}`))
  })
}

function close(server: Server): Promise<void> {
  server.closeAllConnections()
  return new Promise((done) => server.close(() => done()))
}
