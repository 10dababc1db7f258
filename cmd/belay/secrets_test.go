package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/belayrun/belay/internal/access"
)

// TestKeysAreRotated: from one key to another beside a running node, as README
// says, and every step tells where it is.
func TestKeysAreRotated(t *testing.T) {
	t.Parallel()
	const canary = "tool-canary-0123456789"
	api := newOrders(t)
	c := newCluster(t, 1, loopback)
	old, fresh := c.key, access.NewKey()
	status, a := c.call(0, http.MethodPost, "/tools", map[string]any{"key": "orders", "source": "openapi", "secret": canary,
		"openapi": map[string]any{"document_url": api.URL + "/openapi.yaml", "auth": map[string]any{"type": "bearer", "secret": "orders"}}})
	if status != http.StatusCreated {
		t.Fatalf("%d %v", status, a)
	}
	c.agent("clerk", map[string]any{"model": "demo", "tools": []any{map[string]any{"source": "openapi", "key": "orders"}},
		"execution": map[string]any{"callback_url": "http://127.0.0.1:1/", "callback_secret": canary}})
	used := func(node int) {
		t.Helper()
		c.stream(node, "clerk", `/tool get_order {"id": 7}`, nil).rest()
		want(t, "Authorization", <-api.auth, "Bearer "+canary)
	}
	said := func(key, says string, fails bool, args ...string) {
		t.Helper()
		out, err := c.run("", []string{"BELAY_SECRET_KEY=" + key, "BELAY_SANDBOX=off"}, args...)
		if (err != nil) != fails || !strings.Contains(out, says) || strings.Contains(out, canary) || strings.Contains(out, old) || strings.Contains(out, fresh) {
			t.Errorf("belay %s: %v, want %q in\n%s", strings.Join(args, " "), err, says, out)
		}
	}
	used(0)
	said(old, "ok    secrets    3, all sealed with the first key", false, "doctor")
	said(fresh+","+old, "warn  secrets    3 of 3 are sealed with a key that is not the first", false, "doctor")
	said(fresh, "FAIL  secrets    3 can't be opened", true, "doctor")
	said("", "FAIL  secrets    3 can't be opened", true, "doctor")
	said(fresh, "3 secrets can't be opened", true, "secrets", "reseal") // too early, and harmless
	said("", "BELAY_SECRET_KEY", true, "secrets", "reseal")
	both := c.start("both", c.url, loopback, "BELAY_SECRET_KEY="+fresh+","+old)
	both.ready()
	used(1)
	said(fresh+","+old, "3 secrets sealed anew; 3 are sealed with the first key", false, "secrets", "reseal")
	said(fresh+","+old, "0 secrets sealed anew; 3 are sealed with the first key", false, "secrets", "reseal")
	used(1)
	said(fresh, "ok    secrets    3, all sealed with the first key", false, "doctor")
	c.start("fresh", c.url, loopback, "BELAY_SECRET_KEY="+fresh).ready()
	used(2)
	said(old, "FAIL  secrets    3 can't be opened", true, "doctor")
}
