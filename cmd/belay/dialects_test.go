package main

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// say makes a thread with one message of the user's.
func (c *cluster) say(node int, text string) (path string) {
	c.t.Helper()
	status, a := c.call(node, http.MethodPost, "/threads", map[string]any{"messages": []any{map[string]any{"role": "user", "content": text}}})
	if status != http.StatusOK {
		c.t.Fatalf("create thread: %d %v", status, a)
	}
	return "/threads/" + a["id"].(string)
}

// A run is there for the other node from its start, is cancelled through it, and
// leaves a thread that takes the next message at once. 77, 121.
func TestARunIsListedAndCancelledThroughTheOtherNode(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	thread := c.say(1, "/slow 6000")
	run := map[string]any{"assistant_id": "asst_demo", "stream": true}
	s := c.follow(0, http.MethodPost, thread+"/runs", run)
	id := s.until("thread.run.created").Data["id"].(string)
	_, list := c.call(1, http.MethodGet, thread+"/runs", nil)
	if first := list["data"].([]any)[0].(map[string]any); first["id"] != id || first["status"] != "in_progress" {
		t.Errorf("listed as %v", first)
	}
	s.until("thread.message.delta")
	status, told := c.call(1, http.MethodPost, thread+"/runs/"+id+"/cancel", nil)
	if status != http.StatusOK || told["id"] != id || told["status"] != "cancelling" {
		t.Errorf("cancel: %d %v", status, told)
	}
	status, next := c.call(1, http.MethodPost, thread+"/messages", map[string]any{"role": "user", "content": "/echo on"})
	if status != http.StatusOK {
		t.Errorf("the next message: %d %v", status, next)
	}
	if last := s.rest(); last.Type != "done" {
		t.Errorf("the last event is %s", last.Type)
	}
	ended, partial, seen := s.seen[len(s.seen)-2], "", ""
	for _, e := range s.seen {
		switch e.Type {
		case "thread.message.delta":
			seen += textIn(e.Data["delta"])
		case "thread.message.incomplete":
			partial = textIn(e.Data)
		}
	}
	if ended.Type != "thread.run.cancelled" || ended.Data["status"] != "cancelled" || seen == "" || partial != seen {
		t.Errorf("ended by %s with %q, streamed %q", ended.Type, partial, seen)
	}
	status, after := c.call(1, http.MethodPost, thread+"/runs", map[string]any{"assistant_id": "asst_demo"})
	if status != http.StatusOK || after["status"] != "completed" {
		t.Errorf("the next run: %d %v", status, after)
	}
	status, late := c.call(0, http.MethodPost, thread+"/runs/"+id+"/cancel", nil)
	if body, _ := late["error"].(map[string]any); status != http.StatusBadRequest || body["code"] != "run_already_ended" {
		t.Errorf("a late cancel: %d %v", status, late)
	}
}

// textIn returns the text of a thread's message or of a piece of one.
func textIn(m any) (text string) {
	for _, part := range m.(map[string]any)["content"].([]any) {
		text += part.(map[string]any)["text"].(map[string]any)["value"].(string)
	}
	return text
}

// The first chunk of the first turn of a conversation is enough to stop it, from
// any node. 31.
func TestAChatCompletionIsStoppedAtItsFirstChunkThroughTheOtherNode(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	res := c.request(t.Context(), c.nodes[0].url, c.token, http.MethodPost, "/chat/completions", map[string]any{
		"model": "demo", "stream": true, "messages": []any{map[string]any{"role": "user", "content": "/slow 6000"}},
	})
	defer res.Body.Close()
	var last map[string]any
	in, done := bufio.NewScanner(res.Body), false
	for in.Scan() {
		data, ok := strings.CutPrefix(in.Text(), "data: ")
		if !ok {
			continue
		}
		if done = data == "[DONE]"; done {
			continue
		}
		first := last == nil
		last = nil
		if err := json.Unmarshal([]byte(data), &last); err != nil {
			t.Fatal(err)
		}
		if first {
			if a := c.stop(1, last["conversation_id"].(string), nil); a["cancelled"] != true {
				t.Errorf("stop %v", a)
			}
		}
	}
	if in.Err() != nil || !done || last["stop_reason"] != "cancelled" {
		t.Errorf("%v, [DONE] %v, the last chunk %v", in.Err(), done, last)
	}
}

// What was said before a conversation began here is context, once for each role,
// and holds for the turns of every door.
func TestTheContextOfAChatCompletionHoldsForTheNextTurnOfAnotherDoor(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	status, a := c.call(0, http.MethodPost, "/chat/completions", map[string]any{"model": "demo", "messages": []any{
		map[string]any{"role": "system", "content": "The code word is ZEBRA."}, map[string]any{"role": "user", "content": "hello"},
		map[string]any{"role": "assistant", "content": "hi"}, map[string]any{"role": "user", "content": "/echo one"},
	}})
	if status != http.StatusOK {
		t.Fatalf("%d %v", status, a)
	}
	status, b := c.call(0, http.MethodPost, "/responses", map[string]any{"model": "demo", "input": "/echo two", "conversation": a["conversation_id"]})
	if status != http.StatusOK {
		t.Fatalf("%d %v", status, b)
	}
	requests := c.provider.Requests()
	got := requests[len(requests)-1].Messages
	var roles []string
	for _, m := range got {
		roles = append(roles, m.Role)
	}
	if strings.Join(roles, " ") != "system user assistant user assistant user" || !strings.HasPrefix(got[0].Content, "You are a friendly") || !strings.HasSuffix(got[0].Content, "\n\nThe code word is ZEBRA.") {
		t.Errorf("the model was given %q, first %q", roles, got[0].Content)
	}
}
