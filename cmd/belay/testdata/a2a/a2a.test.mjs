// The official A2A SDKs for 0.3 and 1.0 against two nodes of Belay. Environment:
// BELAY_URL and BELAY_OTHER_URL (two nodes), BELAY_TOKEN.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import * as v03 from 'a2a-v0.3/client';
import * as v1 from 'a2a-v1/client';

const { BELAY_URL, BELAY_OTHER_URL, BELAY_TOKEN } = process.env;

const authorized = (url, init = {}) => {
  const headers = new Headers(init.headers);
  headers.set('authorization', `Bearer ${BELAY_TOKEN}`);
  return fetch(url, { ...init, headers });
};

// connect makes a client as an SDK's users do: from the agent's URL and its card.
async function connect(sdk, node, agent) {
  const options = sdk.ClientFactoryOptions.createFrom(sdk.ClientFactoryOptions.default, {
    transports: [new sdk.JsonRpcTransportFactory({ fetchImpl: authorized })],
    cardResolver: new sdk.DefaultAgentCardResolver({ fetchImpl: authorized }),
  });
  return new sdk.ClientFactory(options).createFromUrl(`${node}/api/client/v1/a2a/${agent}/`);
}

// Each version's words behind one set of functions, so that both are held to the
// same promises.
const versions = {
  '0.3': {
    sdk: v03,
    message: (text, more = {}) => ({
      message: { kind: 'message', messageId: randomUUID(), role: 'user', parts: [{ kind: 'text', text }], ...more },
    }),
    task: (r) => (r.kind === 'task' ? r : undefined),
    status: (e) => (e.kind === 'status-update' ? e : undefined),
    artifact: (e) => (e.kind === 'artifact-update' ? e : undefined),
    state: (s) => s.state,
    partText: (p) => p.text,
    name: (s) => s,
  },
  '1.0': {
    sdk: v1,
    message: (text, more = {}) => ({
      tenant: '', metadata: {}, configuration: undefined,
      message: {
        messageId: randomUUID(), role: 1, parts: [{ content: { $case: 'text', value: text }, metadata: {}, filename: '', mediaType: '' }],
        contextId: '', taskId: '', extensions: [], referenceTaskIds: [], metadata: {}, ...more,
      },
    }),
    task: (r) => r.payload?.$case === 'task' ? r.payload.value : (r.status && r.id ? r : undefined),
    status: (e) => e.payload?.$case === 'statusUpdate' ? e.payload.value : undefined,
    artifact: (e) => e.payload?.$case === 'artifactUpdate' ? e.payload.value : undefined,
    state: (s) => ({ 1: 'submitted', 2: 'working', 3: 'completed', 4: 'failed', 5: 'canceled', 6: 'input-required' })[s.state],
    partText: (p) => p.content.value,
    name: (s) => s.replace(/_(.)/g, (_, c) => c.toUpperCase()),
  },
};

for (const [version, v] of Object.entries(versions)) {
  const textOf = (artifacts) => artifacts.flatMap((a) => a.parts).map(v.partText).join('');
  const said = (events) => textOf(events.map(v.artifact).filter(Boolean).map((e) => e.artifact));
  const client = (agent = 'demo', node = BELAY_URL) => connect(v.sdk, node, agent);
  const drain = async (stream) => {
    const events = [];
    for await (const e of stream) events.push(e);
    return events;
  };

  test(`${version}: a message is answered by its task`, async () => {
    const r = await (await client()).sendMessage(v.message('/echo The code word is ZEBRA'));
    const task = v.task(r);
    assert.equal(v.state(task.status), 'completed');
    assert.equal(textOf(task.artifacts), 'The code word is ZEBRA');
    const again = await (await client('demo', BELAY_OTHER_URL)).getTask({ id: task.id, historyLength: 5 });
    assert.deepEqual(again.artifacts, task.artifacts);
    assert.deepEqual(again.status, task.status);
    assert.equal(again.history[0].parts.map(v.partText).join(''), '/echo The code word is ZEBRA');
  });

  test(`${version}: a task that is streamed on one node is canceled on the other`, async () => {
    const c = await client();
    const other = await client('demo', BELAY_OTHER_URL);
    let task, canceled;
    const events = [];
    for await (const e of c.sendMessageStream(v.message('/slow 6000'))) {
      events.push(e);
      task ??= v.task(e);
      if (!canceled && said(events).length > 20) canceled = other.cancelTask({ id: task.id });
    }
    const answer = await canceled;
    assert.equal(answer.id, task.id);
    assert.equal(v.state(answer.status), 'canceled');
    const last = v.status(events.at(-1));
    assert.equal(v.state(last.status), 'canceled');
    assert.deepEqual(last.status.timestamp, answer.status.timestamp);
    if (version === '0.3') assert.equal(last.final, true); // 122
    assert.equal(events.filter((e) => v.status(e)).length, 1);

    const kept = await other.getTask({ id: task.id });
    assert.equal(v.state(kept.status), 'canceled');
    assert.equal(textOf(kept.artifacts), said(events));
    assert.equal(kept.metadata[v.name('stop_reason')], 'cancelled');
    await assert.rejects(c.cancelTask({ id: task.id }), { name: version === '0.3' ? 'UnsupportedOperationError' : 'TaskNotCancelableError' });
  });

  test(`${version}: a stream that is left does not stop the task, and is taken up again on another node`, async () => {
    const c = await client();
    const before = [];
    for await (const e of c.sendMessageStream(v.message('/say words=60 delay=50ms'))) {
      before.push(e);
      if (before.length === 8) break; // closes the connection. 123
    }
    const task = v.task(before[0]);
    const other = await client('demo', BELAY_OTHER_URL);
    const after = await drain(other.resubscribeTask({ id: task.id }));
    const snapshot = v.task(after[0]);
    assert.equal(snapshot.id, task.id);
    assert.equal(v.state(v.status(after.at(-1)).status), 'completed');
    const whole = await c.getTask({ id: task.id });
    assert.equal(textOf(snapshot.artifacts ?? []) + said(after), textOf(whole.artifacts));
  });

  test(`${version}: a question is answered by a message with the task's id, on the same task`, async () => {
    const c = await client('ask');
    const asked = v.task(await c.sendMessage(v.message('/tool ask_user {"question":"Where to?","options":["Oslo","Rome"]}')));
    assert.equal(v.state(asked.status), 'input-required');
    assert.match(asked.status.message.parts.map(v.partText).join(''), /Where to\?\n- Oslo\n- Rome/);
    const other = await client('ask', BELAY_OTHER_URL);
    await assert.rejects(other.sendMessage(v.message('Paris', { taskId: asked.id })), /one of the options: Oslo, Rome/);
    const done = v.task(await other.sendMessage(v.message('Rome', { taskId: asked.id })));
    assert.equal(done.id, asked.id);
    assert.equal(done.contextId, asked.contextId);
    assert.equal(v.state(done.status), 'completed');
    assert.match(textOf(done.artifacts), /Rome/);
  });

  test(`${version}: a streamed question ends the stream, its answer streams on`, async () => {
    const c = await client('ask');
    const first = await drain(c.sendMessageStream(v.message('/tool ask_user {"question":"Where to?"}')));
    assert.equal(v.state(v.status(first.at(-1)).status), 'input-required');
    const task = v.task(first[0]);
    const second = await drain(c.sendMessageStream(v.message('Rome', { taskId: task.id })));
    assert.equal(v.task(second[0]).id, task.id);
    assert.equal(v.state(v.task(second[0]).status), 'working');
    assert.equal(v.state(v.status(second.at(-1)).status), 'completed');
    assert.match(said(second), /Rome/);
  });

  test(`${version}: a conversation goes on with its context, and ends nobody's task`, async () => {
    const c = await client();
    const first = v.task(await c.sendMessage(v.message('hello')));
    const second = v.task(await c.sendMessage(v.message('and now?', { contextId: first.contextId })));
    assert.equal(second.contextId, first.contextId);
    assert.notEqual(second.id, first.id);
    assert.match(textOf(second.artifacts), /last answer/i);
    await assert.rejects(c.sendMessage(v.message('x', { contextId: randomUUID() })), /contextId/);
    await assert.rejects(c.sendMessage(v.message('x', { taskId: first.id })), { name: 'UnsupportedOperationError' });
  });

  test(`${version}: a message that is sent again runs once`, async () => {
    const c = await client();
    const m = v.message('/echo once');
    const [a, b] = await Promise.all([c.sendMessage(m), (await client('demo', BELAY_OTHER_URL)).sendMessage(m)]);
    assert.equal(v.task(a).id, v.task(b).id);
    assert.deepEqual(v.task(a).artifacts, v.task(b).artifacts);
  });

  test(`${version}: what went wrong is said in the protocol's words`, async () => {
    const c = await client();
    await assert.rejects(c.getTask({ id: 'task_000000000000000000000000_1' }), (e) => /not found/i.test(e.message));
    await assert.rejects(c.cancelTask({ id: 'nonsense' }), (e) => /not found/i.test(e.message));
    const failed = v.task(await c.sendMessage(v.message('/error 500')));
    assert.equal(v.state(failed.status), 'failed');
    assert.ok(failed.status.message.parts.length > 0);
  });
}

test('1.0: tasks are listed, the latest first, page by page', async () => {
  const c = await connect(v1, BELAY_URL, 'demo');
  const v = versions['1.0'];
  const one = v.task(await c.sendMessage(v.message('/echo one')));
  const two = v.task(await c.sendMessage(v.message('/echo two', { contextId: one.contextId })));
  const page = await c.listTasks({ contextId: one.contextId, status: 0, pageSize: 1 });
  assert.deepEqual(page.tasks.map((t) => t.id), [two.id]);
  assert.equal(page.totalSize, 2);
  const rest = await c.listTasks({ contextId: one.contextId, status: 0, pageSize: 1, pageToken: page.nextPageToken });
  assert.deepEqual(rest.tasks.map((t) => t.id), [one.id]);
  assert.equal(rest.nextPageToken, '');
});
