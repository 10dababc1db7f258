// Servers that stand for sites of others, and for a balancer before the nodes.
import { createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A site: its pages by path, with the headers that it sends. */
export async function site(pages: Record<string, { html: string; headers?: Record<string, string> }>) {
  const server = createServer((req, res) => {
    const page = pages[req.url?.split('?')[0] ?? '/']
    if (!page) {
      res.writeHead(404).end()
      return
    }
    res.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8', ...page.headers }).end(page.html)
  })
  return { url: await listen(server), close: () => close(server) }
}

/** A way to a node that can be cut: streams that are open break, new ones are refused. */
export async function balancer(to: string) {
  let cut = false
  const server = createServer((req, res) => {
    if (cut) {
      res.destroy()
      return
    }
    const out = request(to + (req.url ?? ''), { method: req.method, headers: req.headers }, (answer) => {
      res.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(res)
    })
    out.on('error', () => res.destroy())
    res.on('close', () => out.destroy())
    req.pipe(out)
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

function listen(server: Server): Promise<string> {
  return new Promise((done) => {
    server.listen(0, '127.0.0.1', () => done(`http://127.0.0.1:${(server.address() as AddressInfo).port}`))
  })
}

function close(server: Server): Promise<void> {
  server.closeAllConnections()
  return new Promise((done) => server.close(() => done()))
}
