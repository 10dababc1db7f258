// An MCP server that does what tests need: over standard input and output, or
// over streamable HTTP where PORT is set. What it is told and does is written to
// the file LOG, a JSON object a line.
import { appendFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { z } from 'zod';

const log = (entry) => appendFileSync(process.env.LOG, JSON.stringify(entry) + '\n');
const text = (s) => ({ content: [{ type: 'text', text: s }] });

function tools() {
  const server = new McpServer({ name: 'ts', version: '1' });
  server.registerTool('echo', { description: 'Says it again.', inputSchema: { text: z.string() } }, async ({ text: s }) => text(s));
  server.registerTool(
    'sum',
    { inputSchema: { a: z.number(), b: z.number() }, outputSchema: { sum: z.number() } },
    async ({ a, b }) => ({ content: [], structuredContent: { sum: a + b } }),
  );
  server.registerTool('fail', {}, async () => ({ ...text('it is broken'), isError: true }));
  server.registerTool('picture', {}, async () => ({ content: [{ type: 'image', mimeType: 'image/png', data: 'AAAA' }] }));
  server.registerTool('grow', {}, async () => {
    server.registerTool('grown', {}, async () => text('new'));
    return text('done');
  });
  server.registerTool('wait', { inputSchema: { mode: z.string(), ms: z.number() } }, async ({ mode, ms }, extra) => {
    log({ began: mode, id: extra.requestId });
    if (mode === 'ignore') {
      await sleep(ms);
      log({ ended: mode });
      return text('late');
    }
    try {
      await sleep(ms, undefined, { signal: extra.signal });
    } catch {
      log({ ended: mode });
      if (mode === 'mute') await new Promise(() => {});
    }
    return text('waited');
  });
  server.registerTool('steps', { inputSchema: { n: z.number(), ms: z.number(), says: z.string() } }, async ({ n, ms, says }, extra) => {
    const progressToken = extra._meta?.progressToken;
    for (let i = 1; i <= n && progressToken !== undefined; i++) {
      await extra.sendNotification({ method: 'notifications/progress', params: { progressToken, progress: i, total: n, message: says } });
      if (ms > 0) await sleep(ms);
    }
    return text('stepped');
  });
  return server;
}

// heard writes down the notifications that a transport brings.
function heard(transport) {
  const next = transport.onmessage;
  transport.onmessage = (message, extra) => {
    if (message.method?.startsWith('notifications/')) log({ method: message.method, params: message.params });
    next?.(message, extra);
  };
}

async function stdio() {
  const transport = new StdioServerTransport();
  await tools().connect(transport);
  heard(transport);
}

function http(port) {
  const sessions = new Map();
  const handle = async (req, res) => {
    const id = req.headers['mcp-session-id'];
    let transport = sessions.get(id);
    if (id && !transport) {
      res.writeHead(404, { 'Content-Type': 'application/json' });
      res.end(JSON.stringify({ jsonrpc: '2.0', error: { code: -32001, message: 'Session not found' }, id: null }));
      return;
    }
    if (!transport) {
      transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: () => randomUUID(),
        onsessioninitialized: (made) => sessions.set(made, transport),
      });
      await tools().connect(transport);
      heard(transport);
    }
    await transport.handleRequest(req, res);
  };
  createServer((req, res) => void handle(req, res)).listen(port, '127.0.0.1', () => log({ listening: port }));
}

if (process.env.PORT) http(Number(process.env.PORT));
else await stdio();
