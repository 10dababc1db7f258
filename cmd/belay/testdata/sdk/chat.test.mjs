// Chat completions through the official OpenAI SDK, against two nodes of Belay.
// Environment: BELAY_URL and BELAY_OTHER_URL (two nodes), BELAY_TOKEN.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import OpenAI from 'openai';

const { BELAY_URL, BELAY_OTHER_URL, BELAY_TOKEN } = process.env;
const prefix = '/api/client/v1';
const openai = new OpenAI({ baseURL: BELAY_URL + prefix, apiKey: BELAY_TOKEN, maxRetries: 0 });
const other = new OpenAI({ baseURL: BELAY_OTHER_URL + prefix, apiKey: BELAY_TOKEN, maxRetries: 0 });

const say = (content, more = {}) => ({ model: 'demo', messages: [{ role: 'user', content }], ...more });

test('a completion answers with content and usage, and its conversation goes on', async () => {
  const c = await openai.chat.completions.create(say('/echo The code word is ZEBRA'));
  assert.equal(c.choices[0].message.content, 'The code word is ZEBRA');
  assert.equal(c.choices[0].finish_reason, 'stop');
  assert.ok(c.usage.total_tokens > 0);
  assert.equal(c.stop_reason, undefined);
  const next = await other.chat.completions.create(say('and now?', { conversation_id: c.conversation_id }));
  assert.equal(next.conversation_id, c.conversation_id);
  assert.match(next.choices[0].message.content, /ZEBRA/);
});

test('a list of messages is the context of a new conversation, and of what follows it', async () => {
  const c = await openai.chat.completions.create({
    model: 'demo',
    messages: [
      { role: 'system', content: 'Be brief.' }, { role: 'user', content: 'hello' },
      { role: 'assistant', content: 'The code word is GIRAFFE' }, { role: 'user', content: 'and now?' },
    ],
  });
  assert.match(c.choices[0].message.content, /GIRAFFE/);
  const kept = await openai.get(`/agents/conversations/${c.conversation_id}/messages`);
  assert.deepEqual(kept.data.map((m) => m.role), ['system', 'user', 'assistant', 'user', 'assistant']);
});

test('stream() and the raw iterator read the same text, with usage where it is asked for', async () => {
  const stream = openai.chat.completions.stream(say('/fast 30', { stream_options: { include_usage: true } }));
  let text = '';
  for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
  const final = await stream.finalChatCompletion();
  assert.equal(final.choices[0].message.content, text);
  assert.equal(final.choices[0].finish_reason, 'stop');
  assert.ok(final.usage.completion_tokens > 0);
  assert.ok(final.conversation_id);
  const whole = await openai.chat.completions.create(say('/fast 30'));
  assert.equal(whole.choices[0].message.content, text);
});

test('a stop from a second client on another node ends the stream and keeps the partial', async () => {
  const stream = openai.chat.completions.stream(say('/slow 6000', { stream_options: { include_usage: true } }));
  let id, stopped, seen = '';
  for await (const chunk of stream) {
    id ??= chunk.conversation_id;
    seen += chunk.choices[0]?.delta.content ?? '';
    if (!stopped && seen.length > 20) stopped = other.post(`/agents/conversations/${id}/cancel`);
  }
  const answer = await stopped;
  assert.equal(answer.cancelled, true);
  assert.equal(answer.run_ids.length, 1);
  const final = await stream.finalChatCompletion();
  assert.equal(final.choices[0].finish_reason, 'stop');
  assert.equal(final.stop_reason, 'cancelled');
  assert.equal(final.conversation_id, id);
  assert.equal(final.choices[0].message.content, seen);
  assert.ok(final.usage.completion_tokens > 0);
  const kept = await other.get(`/agents/conversations/${id}/messages`);
  assert.equal(kept.data.at(-1).content, seen);
  assert.equal(kept.data.at(-1).stop_reason, 'cancelled');
});

test('who leaves a stream does not stop it', async () => {
  const raw = await openai.chat.completions.create(say('/say words=30 delay=20ms', { stream: true }));
  let id;
  for await (const chunk of raw) {
    id = chunk.conversation_id;
    if (chunk.choices[0]?.delta.content) break; // closes the connection
  }
  for (let end = Date.now() + 30_000; ; await new Promise((r) => setTimeout(r, 100))) {
    const c = await other.get(`/agents/conversations/${id}`);
    if (c.state === 'idle') {
      assert.equal(c.last_status, 'completed');
      break;
    }
    assert.ok(Date.now() < end);
  }
});

test('a busy conversation is one 409, the ceiling one 504, and nothing is retried', async () => {
  const sent = [];
  const counted = new OpenAI({
    baseURL: BELAY_URL + prefix, apiKey: BELAY_TOKEN,
    fetch: (url, init) => { sent.push(init.method); return fetch(url, init); },
  });
  const stream = await openai.chat.completions.create(say('/slow 6000', { stream: true }));
  const chunks = stream[Symbol.asyncIterator]();
  const { value: first } = await chunks.next();
  await assert.rejects(
    counted.chat.completions.create(say('x', { conversation_id: first.conversation_id })),
    (e) => e.status === 409 && e.code === 'agent_run_conflict',
  );
  await openai.post(`/agents/conversations/${first.conversation_id}/cancel`);
  for (let c = await chunks.next(); !c.done; c = await chunks.next());
  await assert.rejects(
    counted.chat.completions.create({ ...say('/slow 6000'), model: 'hasty' }),
    (e) => e.status === 504 && e.code === 'timeout' && e.error.side_effects_possible === true,
  );
  assert.equal(sent.length, 2);
});

test('a failed turn is an error, in a stream too', async () => {
  await assert.rejects(openai.chat.completions.create(say('/error 401')), (e) => e.status === 502 && e.code === 'provider_authentication_error');
  await assert.rejects(
    async () => { for await (const _ of await openai.chat.completions.create(say('/cut', { stream: true }))); },
    (e) => e.code === 'provider_error',
  );
  await assert.rejects(
    async () => { await openai.chat.completions.stream(say('/cut')).finalChatCompletion(); },
    (e) => /broke off/.test(e.message),
  );
});

test('tools that the server runs are not shown as calls', async () => {
  const c = await openai.chat.completions.create({ ...say('/tool wait {"seconds":0.1}'), model: 'slow' });
  assert.equal(c.choices[0].message.tool_calls, undefined);
  assert.equal(c.choices[0].finish_reason, 'stop');
  assert.ok(c.choices[0].message.content.length > 0);
});

test('what is refused is named', async () => {
  for (const [param, more] of Object.entries({
    n: { n: 2 }, stop: { stop: ['x'] }, tools: { tools: [{ type: 'function', function: { name: 'f' } }] },
    response_format: { response_format: { type: 'json_object' } },
  })) {
    await assert.rejects(openai.chat.completions.create(say('x', more)), (e) => e.status === 400 && e.param === param, param);
  }
  await assert.rejects(openai.chat.completions.create({ ...say('x'), model: 'nobody' }), (e) => e.status === 404 && e.code === 'agent_not_found');
  await assert.rejects(
    openai.chat.completions.create(say('x', { conversation_id: '5effffffffffffffffffffff' })),
    (e) => e.status === 404 && e.param === 'conversation_id',
  );
});
