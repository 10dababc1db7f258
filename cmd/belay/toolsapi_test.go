package main

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// 114, 115: a shared tool is made, checked, used, changed and deleted by the
// API. What can't be used is told by its field and not stored; the secret comes
// back nowhere.
func TestSharedToolsByTheAPI(t *testing.T) {
	t.Parallel()
	const canary = "tool-canary-0123456789"
	api := newOrders(t)
	c := newCluster(t, 2, "BELAY_LOG_LEVEL=debug", loopback)
	orders := func(url, secret string) map[string]any {
		return map[string]any{"key": "orders", "source": "openapi", "secret": canary,
			"openapi": map[string]any{"document_url": url, "auth": map[string]any{"type": "bearer", "secret": secret}}}
	}
	for _, bad := range []struct {
		body        map[string]any
		param, says string
	}{
		{orders(api.URL+"/nowhere.yaml", "orders"), "openapi.document_url", "404"},
		{orders("http://169.254.169.254/latest", "orders"), "openapi.document_url", "the address is not allowed"},
		{orders(api.URL+"/openapi.yaml", "another"), "openapi.auth.secret", "another"},
		{map[string]any{"key": "orders", "source": "openapi", "openapi": map[string]any{"document": "openapi: 3.1.0\npaths: 7\n"}}, "openapi.document", "paths"},
		{map[string]any{"key": "orders", "source": "mcp", "mcp": map[string]any{"url": api.URL}}, "mcp", ""},
		{map[string]any{"key": "orders", "source": "mcp", "mcp": map[string]any{"command": []string{"true"}}}, "mcp.command", "BELAY_MCP_STDIO"},
	} {
		status, a := c.call(0, http.MethodPost, "/tools", bad.body)
		e, _ := a["error"].(map[string]any)
		if msg, _ := e["message"].(string); status != http.StatusBadRequest || e["param"] != bad.param || !strings.Contains(msg, bad.says) {
			t.Errorf("%v: %d %v, want a 400 about %s", bad.body, status, a, bad.param)
		}
	}
	if status, a := c.call(1, http.MethodGet, "/tools/orders", nil); status != http.StatusNotFound {
		t.Errorf("something was stored: %d %v", status, a)
	}

	status, a := c.call(0, http.MethodPost, "/tools", orders(api.URL+"/openapi.yaml", "orders"))
	want(t, "create", status, http.StatusCreated)
	want(t, "has_secret", a["has_secret"], true)
	status, a = c.call(1, http.MethodPost, "/tools/orders/check", nil)
	want(t, "check", status, http.StatusOK)
	if offered := a["data"].([]any); len(offered) != 3 {
		t.Errorf("offered %v", offered)
	}
	c.agent("clerk", map[string]any{"model": "demo", "tools": []any{map[string]any{"source": "openapi", "key": "orders"}}})
	used := func(node int, secret string) {
		t.Helper()
		s := c.stream(node, "clerk", `/tool get_order {"id": 7}`, nil)
		s.rest()
		want(t, "the call", strings.Join(c.finished(node, s.conv), "; "), `success {"id":7,"state":"shipped"}`)
		want(t, "Authorization", <-api.auth, "Bearer "+secret)
	}
	used(1, canary)
	status, _ = c.call(1, http.MethodPatch, "/tools/orders", map[string]any{"secret": canary + "-next"})
	want(t, "patch", status, http.StatusOK)
	used(0, canary+"-next")
	status, _ = c.call(0, http.MethodPatch, "/tools/orders", map[string]any{"secret": nil}) // its auth needs it
	want(t, "patch without a secret", status, http.StatusBadRequest)
	used(0, canary+"-next")

	res, err := http.Get(c.nodes[1].url + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if b, err := io.ReadAll(res.Body); err != nil || !strings.Contains(string(b), `belay_tool_call_seconds_count{outcome="success",source="openapi"} 1`) {
		t.Errorf("the call is not in the metrics: %v\n%s", err, b)
	}
	if log := c.nodes[1].out.String(); !strings.Contains(log, `"msg":"tool ended"`) || !strings.Contains(log, `"kind":"openapi","source":"orders","outcome":"success","ms":`) {
		t.Errorf("the call is not in the log:\n%s", log)
	}

	status, a = c.call(0, http.MethodDelete, "/tools/orders", nil)
	want(t, "delete one that is needed", status, http.StatusConflict)
	if msg := a["error"].(map[string]any)["message"].(string); !strings.Contains(msg, "agent clerk") {
		t.Errorf("the refusal: %s", msg)
	}
	c.call(0, http.MethodDelete, "/agents/clerk", nil)
	status, _ = c.call(0, http.MethodDelete, "/tools/orders", nil)
	want(t, "delete", status, http.StatusNoContent)
	for name, text := range map[string]string{"first log": c.nodes[0].out.String(), "second log": c.nodes[1].out.String(), "database": c.dump()} {
		if strings.Contains(text, canary) {
			t.Errorf("the secret is in the %s", name)
		}
	}
}
