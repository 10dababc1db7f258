"""The official OpenAI SDK for Python against two nodes of Belay.

Environment: BELAY_URL and BELAY_OTHER_URL (two nodes), BELAY_TOKEN.
"""

import os
import unittest
import warnings

import openai

PREFIX = "/api/client/v1"
warnings.filterwarnings("ignore", category=DeprecationWarning)  # of Assistants, by the SDK


def connect(name):
    return openai.OpenAI(base_url=os.environ[name] + PREFIX, api_key=os.environ["BELAY_TOKEN"], max_retries=0)


here, there = connect("BELAY_URL"), connect("BELAY_OTHER_URL")


def say(content, **more):
    return {"model": "demo", "messages": [{"role": "user", "content": content}], **more}


def text_of(message):
    return "".join(part.text.value for part in message.content)


class Responses(unittest.TestCase):
    def test_a_stream_is_cancelled_from_another_node(self):
        seen, told = "", None
        with here.responses.stream(model="demo", input="/slow 6000") as stream:
            for event in stream:
                if event.type == "response.created":
                    response = event.response.id
                if event.type == "response.output_text.delta":
                    seen += event.delta
                    if told is None and len(seen) > 20:
                        told = there.responses.cancel(response)
            final = event.response
        self.assertIs(told.cancelled, True)
        self.assertEqual(final.status, "incomplete")
        self.assertEqual(final.stop_reason, "cancelled")
        self.assertEqual(final.output_text, seen)
        self.assertEqual(there.responses.retrieve(response).output_text, seen)


class Chat(unittest.TestCase):
    def test_whole_and_streamed_are_the_same(self):
        whole = here.chat.completions.create(**say("/fast 30"))
        text, usage = "", None
        for chunk in there.chat.completions.create(**say("/fast 30", stream=True, stream_options={"include_usage": True})):
            text += "".join(c.delta.content or "" for c in chunk.choices)
            usage = chunk.usage or usage
        self.assertEqual(whole.choices[0].message.content, text)
        self.assertEqual(whole.choices[0].finish_reason, "stop")
        self.assertGreater(usage.total_tokens, 0)
        more = there.chat.completions.create(**say("and now?"), extra_body={"conversation_id": whole.conversation_id})
        self.assertEqual(more.conversation_id, whole.conversation_id)

    def test_a_stream_is_stopped_from_another_node(self):
        seen, told = "", None
        with here.chat.completions.stream(**say("/slow 6000")) as stream:
            for event in stream:
                if event.type == "chunk":
                    conversation = event.chunk.conversation_id
                if event.type == "content.delta":
                    seen += event.delta
                    if told is None and len(seen) > 20:
                        told = there.post(f"/agents/conversations/{conversation}/cancel", cast_to=dict)
            final = stream.get_final_completion()
        self.assertIs(told["cancelled"], True)
        self.assertEqual(final.choices[0].message.content, seen)
        self.assertEqual(final.choices[0].finish_reason, "stop")

    def test_errors_are_the_sdk_s_own(self):
        with self.assertRaises(openai.NotFoundError) as e:
            here.chat.completions.create(**{**say("x"), "model": "nobody"})
        self.assertEqual(e.exception.code, "agent_not_found")
        with self.assertRaises(openai.BadRequestError) as e:
            here.chat.completions.create(**say("x", n=2))
        self.assertEqual(e.exception.param, "n")
        with self.assertRaises(openai.APIError) as e:
            for _ in here.chat.completions.create(**say("/cut", stream=True)):
                pass
        self.assertEqual(e.exception.code, "provider_error")


class Threads(unittest.TestCase):
    def thread(self, content):
        return here.beta.threads.create(messages=[{"role": "user", "content": content}])

    def newest(self, thread):
        return there.beta.threads.messages.list(thread.id, limit=1).data[0]

    def test_create_and_poll(self):
        thread = self.thread("/echo The code word is ZEBRA")
        run = here.beta.threads.runs.create_and_poll(thread_id=thread.id, assistant_id="asst_demo")
        self.assertEqual(run.status, "completed")
        self.assertEqual(text_of(self.newest(thread)), "The code word is ZEBRA")
        roles = [m.role for m in here.beta.threads.messages.list(thread.id, limit=1, order="asc")]
        self.assertEqual(roles, ["user", "assistant"])

    def test_a_stream_is_cancelled_from_another_node(self):
        thread = self.thread("/slow 6000")
        seen, told = "", None
        with here.beta.threads.runs.stream(thread_id=thread.id, assistant_id="asst_demo") as stream:
            for event in stream:
                if event.event == "thread.run.created":
                    run = event.data.id
                if event.event == "thread.message.delta":
                    seen += event.data.delta.content[0].text.value
                    if told is None and len(seen) > 20:
                        told = there.beta.threads.runs.cancel(run, thread_id=thread.id)
            messages = stream.get_final_messages()
        self.assertEqual(told.status, "cancelling")
        self.assertEqual(text_of(messages[0]), seen)
        self.assertEqual(there.beta.threads.runs.poll(run, thread_id=thread.id).status, "cancelled")
        kept = self.newest(thread)
        self.assertEqual((kept.status, kept.incomplete_details.reason, text_of(kept)), ("incomplete", "run_cancelled", seen))
        there.beta.threads.messages.create(thread.id, role="user", content="/echo on")
        self.assertEqual(here.beta.threads.runs.create_and_poll(thread_id=thread.id, assistant_id="asst_demo").status, "completed")
        with self.assertRaises(openai.BadRequestError) as e:
            there.beta.threads.runs.cancel(run, thread_id=thread.id)
        self.assertEqual(e.exception.code, "run_already_ended")


if __name__ == "__main__":
    unittest.main()
