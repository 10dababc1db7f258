// The Assistants API through the official OpenAI SDK, against two nodes of
// Belay. Environment: BELAY_URL and BELAY_OTHER_URL (two nodes), BELAY_TOKEN.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import OpenAI from 'openai';

const { BELAY_URL, BELAY_OTHER_URL, BELAY_TOKEN } = process.env;
const connect = (base, options = {}) =>
  new OpenAI({ baseURL: base + '/api/client/v1', apiKey: BELAY_TOKEN, maxRetries: 0, ...options }).beta;
const beta = connect(BELAY_URL);
const other = connect(BELAY_OTHER_URL);
const demo = { assistant_id: 'asst_demo' };

const textOf = (message) => message.content.map((c) => c.text.value).join('');
const threadThatSays = (content) => beta.threads.create({ messages: [{ role: 'user', content }] });
const newest = async (thread) => (await other.threads.messages.list(thread.id, { limit: 1 })).data[0];

test('a thread is made, noted, answered, listed and deleted', async () => {
  const thread = await beta.threads.create({ metadata: { a: 'b' } });
  assert.deepEqual((await other.threads.retrieve(thread.id)).metadata, { a: 'b' });
  assert.deepEqual((await other.threads.update(thread.id, { metadata: { c: 'd' } })).metadata, { c: 'd' });
  const said = await other.threads.messages.create(thread.id, { role: 'user', content: '/echo The code word is ZEBRA' });
  assert.equal(said.status, 'completed');
  const run = await beta.threads.runs.create(thread.id, { ...demo, metadata: { e: 'f' } });
  assert.equal(run.status, 'completed');
  assert.deepEqual(run.metadata, { e: 'f' });
  assert.ok(run.usage.total_tokens > 0);
  const answer = await newest(thread);
  assert.equal(textOf(answer), 'The code word is ZEBRA');
  assert.equal(answer.run_id, run.id);
  assert.equal(textOf(await other.threads.messages.retrieve(said.id, { thread_id: thread.id })), textOf(said));

  await beta.threads.messages.create(thread.id, { role: 'user', content: 'and now?' });
  const second = await other.threads.runs.create(thread.id, demo);
  assert.match(textOf(await newest(thread)), /ZEBRA/);
  const all = [];
  for await (const m of beta.threads.messages.list(thread.id, { limit: 1, order: 'asc' })) all.push(m.role);
  assert.deepEqual(all, ['user', 'assistant', 'user', 'assistant']);
  const runs = [];
  for await (const r of other.threads.runs.list(thread.id, { limit: 1 })) runs.push(r.id);
  assert.deepEqual(runs, [second.id, run.id]);
  assert.deepEqual((await beta.threads.runs.steps.list(run.id, { thread_id: thread.id })).data, []);

  assert.equal((await beta.threads.delete(thread.id)).deleted, true);
  await assert.rejects(beta.threads.retrieve(thread.id), (e) => e.status === 404);
});

test('an assistant is made, changed, run, listed and deleted', async () => {
  const made = await beta.assistants.create({ model: 'demo', name: 'Parrot', instructions: 'Say it again.' });
  assert.match(made.id, /^asst_/);
  assert.equal((await other.assistants.retrieve(made.id)).instructions, 'Say it again.');
  assert.equal((await other.assistants.update(made.id, { name: 'Poll' })).name, 'Poll');
  const run = await beta.threads.createAndRunPoll({ assistant_id: made.id, thread: { messages: [{ role: 'user', content: '/echo hi' }] } });
  assert.equal(run.status, 'completed');
  assert.equal(run.assistant_id, made.id);
  const ids = [];
  for await (const a of beta.assistants.list({ limit: 2 })) ids.push(a.id);
  assert.ok(ids.includes(made.id) && ids.includes('asst_demo'));
  assert.equal((await beta.assistants.delete(made.id)).deleted, true);
  await assert.rejects(beta.assistants.retrieve(made.id), (e) => e.status === 404 && e.code === 'agent_not_found');
});

test('runs.stream() reads a run to its end', async () => {
  const thread = await threadThatSays('/fast 30');
  let text = '';
  const stream = beta.threads.runs.stream(thread.id, demo).on('textDelta', (d) => (text += d.value));
  const run = await stream.finalRun();
  assert.equal(run.status, 'completed');
  const [message] = await stream.finalMessages();
  assert.equal(textOf(message), text); // its status is that which the SDK saw first
  assert.equal(textOf(await newest(thread)), text);
});

test('createAndRunStream makes the thread', async () => {
  const events = [];
  const stream = beta.threads.createAndRunStream({ ...demo, thread: { messages: [{ role: 'user', content: '/echo hi' }] } });
  for await (const e of stream) events.push(e.event);
  assert.deepEqual(events.slice(0, 4), ['thread.created', 'thread.run.created', 'thread.run.queued', 'thread.run.in_progress']);
  assert.equal(events.at(-1), 'thread.run.completed');
  assert.equal((await stream.finalRun()).status, 'completed');
});

// Field report 121.
test('a run that is cancelled from another node ends cancelled, and its thread is free', async () => {
  const thread = await threadThatSays('/slow 6000');
  let cancelled, seen = '';
  const stream = beta.threads.runs.stream(thread.id, demo);
  stream.on('textDelta', (d) => {
    seen += d.value;
    if (!cancelled && seen.length > 20) {
      cancelled = other.threads.runs.cancel(stream.currentRun().id, { thread_id: thread.id });
    }
  });
  const run = await stream.finalRun();
  assert.equal(run.status, 'cancelled');
  assert.ok(run.cancelled_at);
  const told = await cancelled;
  assert.equal(told.id, run.id);
  assert.equal(told.status, 'cancelling');
  assert.equal((await other.threads.runs.poll(run.id, { thread_id: thread.id })).status, 'cancelled');

  const kept = await newest(thread);
  assert.equal(kept.status, 'incomplete');
  assert.equal(kept.incomplete_details.reason, 'run_cancelled');
  assert.equal(textOf(kept), seen);
  await other.threads.messages.create(thread.id, { role: 'user', content: '/echo on' });
  assert.equal((await other.threads.runs.createAndPoll(thread.id, demo)).status, 'completed');
  assert.equal(textOf(await newest(thread)), 'on');
  await assert.rejects(
    other.threads.runs.cancel(run.id, { thread_id: thread.id }),
    (e) => e.status === 400 && e.code === 'run_already_ended',
  );
  await assert.rejects(
    other.threads.runs.cancel('run_nothing', { thread_id: thread.id }),
    (e) => e.status === 404 && e.error.message === 'Run not found',
  );
});

test('the request that runs a turn records its cancel; the run is there from its start and is polled soon', async () => {
  const thread = await threadThatSays('/slow 6000');
  const ran = beta.threads.runs.create(thread.id, demo);
  let run;
  for (const end = Date.now() + 30_000; !run; ) {
    run = (await other.threads.runs.list(thread.id)).data.find((r) => r.status === 'in_progress');
    assert.ok(Date.now() < end);
  }
  const { response } = await other.threads.runs.retrieve(run.id, { thread_id: thread.id }).withResponse();
  assert.equal(response.headers.get('openai-poll-after-ms'), '500');
  await assert.rejects(
    beta.threads.messages.create(thread.id, { role: 'user', content: 'x' }),
    (e) => e.status === 409 && e.code === 'agent_run_conflict',
  );
  assert.equal((await other.threads.runs.cancel(run.id, { thread_id: thread.id })).status, 'cancelling');
  const ended = await ran;
  assert.equal(ended.id, run.id);
  assert.equal(ended.status, 'cancelled');
});

test('a client that goes away stops nothing', async () => {
  const thread = await threadThatSays('/say words=30 delay=20ms');
  const stream = beta.threads.runs.stream(thread.id, demo);
  await new Promise((resolve) => stream.once('textDelta', resolve));
  const { id } = stream.currentRun();
  stream.on('error', () => {}).on('abort', () => {});
  stream.abort();
  assert.equal((await other.threads.runs.poll(id, { thread_id: thread.id })).status, 'completed');
});

test('a failed run says so, in a stream too; the ceiling expires one', async () => {
  const thread = await threadThatSays('/cut');
  const run = await beta.threads.runs.createAndPoll(thread.id, demo);
  assert.equal(run.status, 'failed');
  assert.equal(run.last_error.code, 'provider_error');
  const stream = beta.threads.runs.stream(thread.id, demo);
  const final = await stream.finalRun();
  assert.equal(final.status, 'failed');
  const slow = await threadThatSays('/slow 6000');
  assert.equal((await beta.threads.runs.create(slow.id, { assistant_id: 'asst_hasty' })).status, 'expired');
});

test('a waiting run shows what a person has to decide, goes on when that is decided, and can be cancelled', async () => {
  const ask = '/tool add {"a":1,"b":2}';
  const approve = { assistant_id: 'asst_approve' };
  const thread = await threadThatSays(ask);
  const stream = beta.threads.runs.stream(thread.id, approve);
  const run = await stream.finalRun();
  assert.equal(run.status, 'requires_action');
  assert.equal(run.required_action, null);
  assert.equal(run.required_actions[0].name, 'add');
  const path = `/agents/actions/${run.required_actions[0].id}/decision`;
  const raw = new OpenAI({ baseURL: BELAY_OTHER_URL + '/api/client/v1', apiKey: BELAY_TOKEN });
  await raw.post(path, { body: { decision: 'approve' } });
  for (const end = Date.now() + 30_000; ; ) {
    const now = await other.threads.runs.retrieve(run.id, { thread_id: thread.id });
    if (now.status === 'completed') break;
    assert.ok(['queued', 'in_progress'].includes(now.status), now.status);
    assert.ok(Date.now() < end);
  }
  const again = await threadThatSays(ask);
  const waits = await beta.threads.runs.createAndPoll(again.id, approve);
  assert.equal(waits.status, 'requires_action');
  assert.equal((await other.threads.runs.cancel(waits.id, { thread_id: again.id })).status, 'cancelling');
  assert.equal((await other.threads.runs.poll(waits.id, { thread_id: again.id })).status, 'cancelled');
});

test('what is refused is named', async () => {
  const thread = await threadThatSays('x');
  for (const [param, more] of Object.entries({ model: { model: 'gpt-4o' }, tools: { tools: [{ type: 'file_search' }] } })) {
    await assert.rejects(beta.threads.runs.create(thread.id, { ...demo, ...more }), (e) => e.status === 400 && e.param === param, param);
  }
  await assert.rejects(beta.threads.runs.create(thread.id, { assistant_id: 'asst_nobody' }), (e) => e.status === 404 && e.code === 'agent_not_found');
  await assert.rejects(
    beta.threads.runs.submitToolOutputs('run_x', { thread_id: thread.id, tool_outputs: [] }),
    (e) => e.status === 400 && e.param === 'tool_outputs',
  );
});
