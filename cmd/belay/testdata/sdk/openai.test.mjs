// The official OpenAI SDK against two nodes of Belay. Environment: BELAY_URL and
// BELAY_OTHER_URL (two nodes), BELAY_TOKEN.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import OpenAI from 'openai';

const { BELAY_URL, BELAY_OTHER_URL, BELAY_TOKEN } = process.env;

function client(base = BELAY_URL, options = {}) {
  const sent = [];
  const openai = new OpenAI({
    baseURL: `${base}/api/client/v1`,
    apiKey: BELAY_TOKEN,
    fetch: (url, init) => {
      sent.push(`${init.method} ${new URL(url).pathname}`);
      return fetch(url, init);
    },
    ...options,
  });
  return { openai, sent };
}

const { openai } = client();
const { openai: other } = client(BELAY_OTHER_URL);

async function drain(stream) {
  const events = [];
  for await (const e of stream) events.push(e);
  return events;
}

const textOf = (events) =>
  events.filter((e) => e.type === 'response.output_text.delta').map((e) => e.delta).join('');

test('create answers with output_text and usage', async () => {
  const r = await openai.responses.create({ model: 'demo', input: '/echo The code word is ZEBRA' });
  assert.equal(r.status, 'completed');
  assert.equal(r.output_text, 'The code word is ZEBRA');
  assert.ok(r.usage.total_tokens > 0);
  assert.equal(r.error, null);
  assert.equal(r.incomplete_details, null);

  const again = await other.responses.retrieve(r.id);
  assert.equal(again.output_text, r.output_text);
  assert.deepEqual(again.output, r.output);
});

test('stream() and the raw iterator read the same turn', async () => {
  const stream = openai.responses.stream({ model: 'demo', input: '/fast 30' });
  const events = await drain(stream);
  const final = await stream.finalResponse();
  assert.equal(events[0].type, 'response.created');
  assert.equal(events.at(-1).type, 'response.completed');
  assert.equal(final.status, 'completed');
  assert.equal(final.output_text, textOf(events));

  const raw = await drain(await openai.responses.create({ model: 'demo', input: '/fast 30', stream: true }));
  assert.deepEqual(raw.map((e) => e.sequence_number), raw.map((_, i) => i));
  assert.equal(raw.at(-1).response.output[0].content[0].text, textOf(raw));
});

test('a turn goes on from the one before', async () => {
  const first = await openai.responses.create({ model: 'demo', input: 'hello' });
  const second = await openai.responses.create({ model: 'demo', input: 'and now?', previous_response_id: first.id });
  assert.equal(second.conversation_id, first.conversation_id);
  assert.match(second.output_text, /last answer/i);
  await assert.rejects(
    openai.responses.create({ model: 'demo', input: 'x', previous_response_id: 'resp_nothing' }),
    (e) => e.status === 404 && e.code === 'previous_response_not_found',
  );
});

test('cancel from a second client on another node ends the stream and keeps the partial', async () => {
  const stream = openai.responses.stream({ model: 'demo', input: '/slow 6000' });
  let id, cancelled, seen = '';
  for await (const e of stream) {
    if (e.type === 'response.created') id = e.response.id;
    if (e.type === 'response.output_text.delta') {
      seen += e.delta;
      if (!cancelled && seen.length > 20) cancelled = other.responses.cancel(id);
    }
  }
  const answer = await cancelled;
  assert.equal(answer.object, 'response');
  assert.equal(answer.id, id);
  assert.equal(answer.cancelled, true);
  assert.equal(answer.run_ids.length, 1);

  const final = await stream.finalResponse();
  assert.equal(final.status, 'incomplete');
  assert.equal(final.stop_reason, 'cancelled');
  assert.equal(final.incomplete_details.reason, 'cancelled');
  assert.equal(final.output_text, seen);
  assert.equal(final.output[0].status, 'incomplete');

  const kept = await other.responses.retrieve(id);
  assert.equal(kept.output_text, seen);
  const late = await openai.responses.cancel(id);
  assert.equal(late.cancelled, false);
  assert.deepEqual(late.run_ids, []);
});

test('a turn is resumed at any event, running or ended', async () => {
  const raw = await openai.responses.create({ model: 'demo', input: '/say words=30 delay=20ms', stream: true });
  const before = [];
  for await (const e of raw) {
    before.push(e);
    if (before.length === 12) break; // closes the connection; the turn goes on
  }
  const id = before[0].response.id;
  const after = await drain(await other.responses.retrieve(id, { stream: true, starting_after: before.at(-1).sequence_number }));
  const whole = [...before, ...after];
  assert.deepEqual(whole.map((e) => e.sequence_number), whole.map((_, i) => i));
  assert.equal(whole.at(-1).type, 'response.completed');
  assert.equal(whole.at(-1).response.output_text ?? whole.at(-1).response.output[0].content[0].text, textOf(whole));

  const replay = await drain(await openai.responses.retrieve(id, { stream: true }));
  assert.deepEqual(replay, whole);
  const helper = openai.responses.stream({ response_id: id, starting_after: 5 });
  assert.equal((await drain(helper))[0].sequence_number, 6);
  assert.equal((await helper.finalResponse()).output_text, textOf(whole));
});

test('tools that the server runs are mcp_call items and never function calls', async () => {
  const stream = openai.responses.stream({ model: 'slow', input: '/tool wait {"seconds":0.1}' });
  const events = await drain(stream);
  const final = await stream.finalResponse();
  const call = final.output.find((i) => i.type === 'mcp_call');
  assert.equal(call.name, 'wait');
  assert.equal(call.status, 'completed');
  assert.match(call.output, /waited/);
  assert.ok(events.some((e) => e.type === 'response.mcp_call.completed'));
  assert.ok(!events.some((e) => e.type.includes('function_call')));
});

test('a stopped tool is incomplete', async () => {
  const stream = openai.responses.stream({ model: 'slow', input: '/tool wait {"seconds":60}' });
  let id;
  for await (const e of stream) {
    if (e.type === 'response.created') id = e.response.id;
    if (e.type === 'response.mcp_call.in_progress') void other.responses.cancel(id);
  }
  const final = await stream.finalResponse();
  assert.equal(final.status, 'incomplete');
  assert.equal(final.output.find((i) => i.type === 'mcp_call').status, 'incomplete');
});

test('a busy session is one 409 and no silent retries', async () => {
  const { openai: counted, sent } = client();
  const stream = await openai.responses.create({ model: 'demo', input: '/slow 6000', stream: true });
  const events = stream[Symbol.asyncIterator]();
  const { value: created } = await events.next();
  await assert.rejects(
    counted.responses.create({ model: 'demo', input: 'x', previous_response_id: created.response.id }),
    (e) => e.status === 409 && e.code === 'agent_run_conflict' && e.error.run_id === created.response.run_id,
  );
  assert.deepEqual(sent, ['POST /api/client/v1/responses']);
  await openai.responses.cancel(created.response.id);
  for (let e = await events.next(); !e.done; e = await events.next());
});

test('the synchronous ceiling is one 504 and no silent retries', async () => {
  const { openai: counted, sent } = client();
  await assert.rejects(
    counted.responses.create({ model: 'hasty', input: '/slow 6000' }),
    (e) => e.status === 504 && e.code === 'timeout' && e.error.side_effects_possible === true,
  );
  assert.deepEqual(sent, ['POST /api/client/v1/responses']);
});

test('a failed turn is response.failed in a stream and an error in a call', async () => {
  const events = await drain(await openai.responses.create({ model: 'demo', input: '/cut', stream: true }));
  const last = events.at(-1);
  assert.equal(last.type, 'response.failed');
  assert.equal(last.response.status, 'failed');
  assert.equal(last.response.error.code, 'provider_error');
  const { openai: counted, sent } = client();
  await assert.rejects(counted.responses.create({ model: 'demo', input: '/error 401' }), (e) => e.status === 502 && e.code === 'provider_authentication_error');
  assert.equal(sent.length, 1);
});

test('wrong tokens and wrong parameters are named', async () => {
  const { openai: stranger } = client(BELAY_URL, { apiKey: 'belay_' + '0'.repeat(64) });
  await assert.rejects(stranger.responses.create({ model: 'demo', input: 'x' }), (e) => e.status === 401 && e.code === 'invalid_token');
  await assert.rejects(
    openai.responses.create({ model: 'demo', input: 'x', tools: [{ type: 'function', name: 'f', parameters: {} }] }),
    (e) => e.status === 400 && e.param === 'tools',
  );
  await assert.rejects(openai.responses.create({ model: 'nobody', input: 'x' }), (e) => e.status === 404 && e.code === 'agent_not_found');
});

test('what frameworks always send is accepted; models, input items and delete are there', async () => {
  const r = await openai.responses.create({
    model: 'demo', input: [{ role: 'user', content: [{ type: 'input_text', text: '/echo hi' }] }], store: true, include: [],
    text: { format: { type: 'text' } }, truncation: 'disabled', parallel_tool_calls: true, user: 'u', service_tier: 'auto',
    prompt_cache_key: 'k', safety_identifier: 's', tool_choice: 'auto', tools: [], metadata: { a: 'b' }, temperature: 0.5,
  });
  assert.equal(r.output_text, 'hi');
  assert.deepEqual(r.metadata, { a: 'b' });
  const models = await openai.models.list();
  assert.ok(models.data.some((m) => m.id === 'demo'));
  const items = await openai.responses.inputItems.list(r.id);
  assert.equal(items.data[0].content[0].text, '/echo hi');
  await openai.responses.delete(r.id);
  await openai.responses.delete(r.id); // idempotent
  await assert.rejects(openai.responses.retrieve(r.id), (e) => e.status === 404);
});

// The loop that OpenAI's documentation has for background responses.
async function poll(c, id) {
  const seen = [];
  for (;;) {
    const r = await c.responses.retrieve(id);
    if (seen.at(-1) !== r.status) seen.push(r.status);
    if (r.status !== 'queued' && r.status !== 'in_progress') return { r, seen };
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

test('a background response is created, polled from another node and read', async () => {
  const created = await openai.responses.create({ model: 'demo', input: '/say words=20 delay=20ms', background: true });
  assert.equal(created.object, 'response');
  assert.match(created.id, /^run_/);
  assert.ok(['queued', 'in_progress'].includes(created.status), created.status);
  assert.equal(created.background, true);
  assert.equal(created.run.object, 'agent.run');
  const { r } = await poll(other, created.id);
  assert.equal(r.status, 'completed');
  assert.equal(r.id, created.id);
  assert.equal(r.output_text.split(' ').length, 20);
  assert.equal(r.run.status, 'succeeded');
  const next = await openai.responses.create({ model: 'demo', input: 'and now?', previous_response_id: created.id });
  assert.equal(next.conversation_id, created.conversation_id);
});

test('a background response is cancelled from a second client and keeps the partial', async () => {
  const created = await openai.responses.create({ model: 'demo', input: '/slow 6000', background: true });
  let now = created;
  while (!now.output_text) now = await openai.responses.retrieve(created.id);
  assert.equal(now.status, 'in_progress');
  const answer = await other.responses.cancel(created.id);
  assert.equal(answer.cancelled, true);
  const { r } = await poll(openai, created.id);
  assert.equal(r.status, 'cancelled');
  assert.equal(r.stop_reason, 'cancelled');
  assert.ok(r.output_text.startsWith(now.output_text));
  assert.equal(r.error, null);
  const late = await openai.responses.cancel(created.id);
  assert.equal(late.status, 'cancelled');
  assert.equal(late.cancelled, false);
});

test('a background response is streamed, left and resumed at any event', async () => {
  const raw = await openai.responses.create({ model: 'demo', input: '/say words=30 delay=20ms', background: true, stream: true });
  const before = [];
  for await (const e of raw) {
    before.push(e);
    if (before.length === 12) break;
  }
  assert.deepEqual(before.slice(0, 3).map((e) => e.type), ['response.created', 'response.queued', 'response.in_progress']);
  const id = before[0].response.id;
  const after = await drain(await other.responses.retrieve(id, { stream: true, starting_after: before.at(-1).sequence_number }));
  const whole = [...before, ...after];
  assert.deepEqual(whole.map((e) => e.sequence_number), whole.map((_, i) => i));
  assert.equal(whole.at(-1).type, 'response.completed');
  assert.deepEqual(await drain(await openai.responses.retrieve(id, { stream: true })), whole);
  const helper = openai.responses.stream({ model: 'demo', input: '/fast 30', background: true });
  const events = await drain(helper);
  assert.equal((await helper.finalResponse()).output_text, textOf(events));
});

test('an idempotency key begins one background response', async () => {
  const ask = () => openai.responses.create({ model: 'demo', input: '/echo once', background: true }, { headers: { 'Idempotency-Key': 'sdk-1' } });
  const all = await Promise.all(Array.from({ length: 20 }, ask));
  assert.equal(new Set(all.map((r) => r.id)).size, 1);
  const { openai: counted, sent } = client();
  await assert.rejects(
    counted.responses.create({ model: 'demo', input: '/echo twice', background: true }, { headers: { 'Idempotency-Key': 'sdk-1' } }),
    (e) => e.status === 409 && e.code === 'idempotency_key_conflict',
  );
  assert.equal(sent.length, 1);
});
