package main

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestOfficialSDKs runs the official SDKs, in Node, against two nodes: they
// stream, cancel from the other node, resume, and retry nothing behind our back.
// 119, 120.
func TestOfficialSDKs(t *testing.T) {
	t.Parallel()
	needPackages(t, "testdata/sdk")
	c := newCluster(t, 2)
	c.agent("hasty", map[string]any{"model": "demo", "execution": map[string]any{"sync_timeout_seconds": 1}})
	cmd := exec.CommandContext(t.Context(), "node", "--test", "openai.test.mjs", "chat.test.mjs", "threads.test.mjs", "ai.test.mjs")
	cmd.Dir = "testdata/sdk"
	cmd.Env = append(os.Environ(), "BELAY_URL="+c.nodes[0].url, "BELAY_OTHER_URL="+c.nodes[1].url, "BELAY_TOKEN="+c.token)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// needPackages fails a test at once where the Node packages of a directory are
// not installed whole: what runs there would only be waited for.
func needPackages(t *testing.T, dir string) {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		t.Fatalf("%s needs Node.js: run make test, which installs what tests need", dir)
	}
	// npm writes this file last.
	if _, err := os.Stat(filepath.Join(dir, "node_modules", ".package-lock.json")); err != nil {
		t.Fatalf("%s has no packages: run npm ci in it, or make test, which does", dir)
	}
}

// agent makes an agent, and publishes it.
func (c *cluster) agent(key string, config map[string]any) {
	c.t.Helper()
	if status, a := c.call(0, http.MethodPost, "/agents", map[string]any{"key": key, "config": config}); status != http.StatusCreated {
		c.t.Fatalf("create agent: %d %v", status, a)
	}
	if status, a := c.call(0, http.MethodPost, "/agents/"+key+"/publish", nil); status != http.StatusOK {
		c.t.Fatalf("publish agent: %d %v", status, a)
	}
}

// TestOfficialSDKForPython does the same in Python.
func TestOfficialSDKForPython(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	cmd := exec.CommandContext(t.Context(), ".venv/bin/python", "openai_test.py")
	cmd.Dir = "testdata/sdk"
	cmd.Env = append(os.Environ(), "BELAY_URL="+c.nodes[0].url, "BELAY_OTHER_URL="+c.nodes[1].url, "BELAY_TOKEN="+c.token)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v (.ci/install test makes .venv)\n%s", err, out)
	}
}
