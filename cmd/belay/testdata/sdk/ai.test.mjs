// The Vercel AI SDK's openai provider streaming from two nodes of Belay, and
// stopped. Environment: BELAY_URL and BELAY_OTHER_URL (two nodes), BELAY_TOKEN.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createOpenAI } from '@ai-sdk/openai';
import { generateText, streamText } from 'ai';

const { BELAY_URL, BELAY_OTHER_URL, BELAY_TOKEN } = process.env;
const prefix = '/api/client/v1';
const belay = createOpenAI({ baseURL: BELAY_URL + prefix, apiKey: BELAY_TOKEN });

const post = async (path) => {
  const res = await fetch(BELAY_OTHER_URL + prefix + path, { method: 'POST', headers: { Authorization: `Bearer ${BELAY_TOKEN}` } });
  assert.equal(res.status, 200);
  return res.json();
};
const read = async (path) => {
  const res = await fetch(BELAY_OTHER_URL + prefix + path, { headers: { Authorization: `Bearer ${BELAY_TOKEN}` } });
  assert.equal(res.status, 200);
  return res.json();
};

const doors = { responses: belay.responses('demo'), 'chat completions': belay.chat('demo') };

for (const [name, model] of Object.entries(doors)) {
  test(`generateText and streamText read ${name}`, async () => {
    const whole = await generateText({ model, prompt: '/echo The code word is ZEBRA', maxRetries: 0 });
    assert.equal(whole.text, 'The code word is ZEBRA');
    assert.equal(whole.finishReason, 'stop');
    assert.ok(whole.usage.outputTokens > 0);
    const stream = streamText({ model, prompt: '/fast 30', maxRetries: 0 });
    let text = '';
    for await (const part of stream.textStream) text += part;
    assert.ok(text.length > 20);
    assert.equal(await stream.text, text);
    assert.equal(await stream.finishReason, 'stop');
  });
}

// The SDK's own stop closes the connection, which stops nothing here: who wants
// the turn stopped says so, by the id that the stream began with.
test('a stream that is stopped through the cancel route ends by itself, with its partial', async () => {
  let id;
  let stopped;
  const stream = streamText({
    model: belay.responses('demo'), prompt: '/slow 6000', maxRetries: 0, includeRawChunks: true,
    onChunk: ({ chunk }) => {
      if (chunk.type === 'raw') id ??= chunk.rawValue?.response?.id;
      if (chunk.type === 'text-delta' && id) stopped ??= post(`/responses/${id}/cancel`);
    },
  });
  let text = '';
  for await (const part of stream.textStream) text += part;
  assert.equal((await stopped).cancelled, true);
  assert.equal(await stream.finishReason, 'other'); // no word of the SDK's for it
  const kept = await read(`/responses/${id}`);
  assert.equal(kept.stop_reason, 'cancelled');
  assert.equal(kept.output[0].content[0].text, text);
});

test('an aborted stream does not stop the turn; abort and cancel together do', async () => {
  const abort = new AbortController();
  let id;
  const stream = streamText({
    model: belay.responses('demo'), prompt: '/slow 6000', maxRetries: 0, includeRawChunks: true, abortSignal: abort.signal,
    onChunk: ({ chunk }) => {
      if (chunk.type === 'raw') id ??= chunk.rawValue?.response?.id;
      if (chunk.type === 'text-delta') abort.abort();
    },
    onError: () => {},
  });
  try {
    for await (const _ of stream.textStream);
  } catch (e) {
    assert.equal(e.name, 'AbortError');
  }
  assert.equal((await read(`/responses/${id}`)).status, 'in_progress');
  const a = await post(`/responses/${id}/cancel?wait_ms=20000`);
  assert.equal(a.cancelled, true);
  assert.equal(a.stop_status, 'stopped');
  assert.equal(a.status, 'incomplete');
  assert.ok(a.output[0].content[0].text.length > 0);
});
