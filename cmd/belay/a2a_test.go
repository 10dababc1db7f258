package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestA2ASDKs runs the official A2A SDKs, in Node, for both versions of the
// protocol against two nodes: they stream a task and cancel it from the other
// node, leave a stream and take it up again there, and answer questions. 25, 82, 122, 123.
func TestA2ASDKs(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	cmd := exec.CommandContext(t.Context(), "node", "--test", "a2a.test.mjs")
	cmd.Dir = "testdata/a2a"
	cmd.Env = append(os.Environ(), "BELAY_URL="+c.nodes[0].url, "BELAY_OTHER_URL="+c.nodes[1].url, "BELAY_TOKEN="+c.token)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v (the packages come from: npm ci)\n%s", err, out)
	}
}

// rpc calls a method of an agent through a node.
func (c *cluster) rpc(node int, agentURL, version, method string, params any) map[string]any {
	c.t.Helper()
	b, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		c.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, c.nodes[node].url+agentURL, strings.NewReader(string(b)))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("A2A-Version", version)
	res, err := c.http.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer res.Body.Close()
	var out map[string]any
	if err := json.NewDecoder(res.Body).Decode(&out); err != nil {
		c.t.Fatal(err)
	}
	return out
}

// pushed is a push notification as its receiver has it.
type pushed struct {
	header http.Header
	body   map[string]any
}

// TestA2APushesEachState: who asked for it is told when the task needs somebody
// and when it has ended, in its version's shape and with what it asked to be sent,
// wherever the turn goes on. 106.
func TestA2APushesEachState(t *testing.T) {
	t.Parallel()
	got := make(chan pushed, 10)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		p := pushed{header: r.Header}
		if err := json.Unmarshal(b, &p.body); err != nil {
			t.Error(err)
		}
		got <- p
	}))
	t.Cleanup(hook.Close)
	c := newCluster(t, 2, "BELAY_OUTBOUND_ALLOW=127.0.0.1")
	const ask = "/api/client/v1/a2a/ask"
	next := func() pushed {
		t.Helper()
		select {
		case p := <-got:
			if p.header.Get("Authorization") != "Bearer canary" || p.header.Get("X-A2A-Notification-Token") != "mine" {
				t.Errorf("headers %v", p.header)
			}
			return p
		case <-time.After(patience):
			t.Fatal("nothing is pushed")
		}
		return pushed{}
	}
	text := `/tool ask_user {"question":"Where to?"}`

	one := c.rpc(0, ask, "1.0", "SendMessage", map[string]any{
		"message": map[string]any{"messageId": "m1", "role": "ROLE_USER", "parts": []any{map[string]any{"text": text}}},
		"configuration": map[string]any{"taskPushNotificationConfig": map[string]any{
			"url": hook.URL, "token": "mine", "authentication": map[string]any{"scheme": "Bearer", "credentials": "canary"},
		}},
	})
	task := one["result"].(map[string]any)["task"].(map[string]any)
	told := next().body["task"].(map[string]any)
	if told["id"] != task["id"] || told["status"].(map[string]any)["state"] != "TASK_STATE_INPUT_REQUIRED" {
		t.Errorf("told %v", told)
	}
	if a := c.rpc(1, ask, "1.0", "CancelTask", map[string]any{"id": task["id"]}); a["error"] != nil {
		t.Fatalf("cancel: %v", a)
	}
	if told := next().body["task"].(map[string]any); told["status"].(map[string]any)["state"] != "TASK_STATE_CANCELED" {
		t.Errorf("told %v", told)
	}

	two := c.rpc(0, ask, "0.3", "message/send", map[string]any{
		"message":       map[string]any{"kind": "message", "messageId": "m2", "role": "user", "parts": []any{map[string]any{"kind": "text", "text": text}}},
		"configuration": map[string]any{"blocking": true},
	})["result"].(map[string]any)
	if a := c.rpc(1, ask, "0.3", "tasks/pushNotificationConfig/set", map[string]any{
		"taskId": two["id"], "pushNotificationConfig": map[string]any{
			"url": hook.URL, "token": "mine", "authentication": map[string]any{"schemes": []string{"Bearer"}, "credentials": "canary"},
		},
	}); a["error"] != nil {
		t.Fatalf("set: %v", a)
	}
	c.rpc(1, ask, "0.3", "message/send", map[string]any{
		"message":       map[string]any{"kind": "message", "messageId": "m3", "role": "user", "taskId": two["id"], "parts": []any{map[string]any{"kind": "text", "text": "Rome"}}},
		"configuration": map[string]any{"blocking": true},
	})
	if told := next().body; told["kind"] != "task" || told["id"] != two["id"] || told["status"].(map[string]any)["state"] != "completed" || len(told["artifacts"].([]any)) == 0 {
		t.Errorf("told %v", told)
	}
	if strings.Contains(c.dump(), "canary") {
		t.Error("the credentials are stored as they are")
	}
}

// TestA2ACancelAnywhereIsTrue: of cancels that race the end of a task through both
// nodes, one that says canceled is of a task that is. 19, 25, 125.
func TestA2ACancelAnywhereIsTrue(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	const demo = "/api/client/v1/a2a/demo"
	for i := range 30 {
		version, send, cancel, get := "0.3", "message/send", "tasks/cancel", "tasks/get"
		message := map[string]any{"kind": "message", "role": "user", "parts": []any{map[string]any{"kind": "text", "text": "/say words=3 delay=10ms"}}}
		if i%2 == 1 {
			version, send, cancel, get = "1.0", "SendMessage", "CancelTask", "GetTask"
			message = map[string]any{"role": "ROLE_USER", "parts": []any{map[string]any{"text": "/say words=3 delay=10ms"}}}
		}
		message["messageId"] = "race-" + version + "-" + time.Now().String()
		begun := c.rpc(i%2, demo, version, send, map[string]any{"message": message, "configuration": map[string]any{"returnImmediately": true}})
		task, _ := begun["result"].(map[string]any)
		if inner, ok := task["task"].(map[string]any); ok {
			task = inner
		}
		time.Sleep(time.Duration(i) * 2 * time.Millisecond)
		answer := c.rpc((i+1)%2, demo, version, cancel, map[string]any{"id": task["id"]})
		said := answer["error"] == nil
		var state string
		eventually(t, "the task ends", func() bool {
			now := c.rpc(i%2, demo, version, get, map[string]any{"id": task["id"]})["result"].(map[string]any)
			state = strings.ToLower(strings.TrimPrefix(now["status"].(map[string]any)["state"].(string), "TASK_STATE_"))
			return state == "completed" || state == "canceled"
		})
		if said != (state == "canceled") {
			t.Errorf("%d: the cancel says %v, the task is %s", i, answer, state)
		}
	}
}
