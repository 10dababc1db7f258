package main

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/belayrun/belay/internal/access"
	"github.com/belayrun/belay/internal/openai/openaitest"
	"github.com/belayrun/belay/internal/postgres"
	"github.com/belayrun/belay/internal/postgres/pgserver"
	"github.com/belayrun/belay/internal/postgres/pgtest"
)

// belay runs a command line and returns what it printed.
func belay(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := execute(t.Context(), args, &out, &out)
	return out.String(), err
}

// 28: a fresh database is refused until it is migrated; then token, apply and
// doctor need nothing but its URL.
func TestCommandsOnAFreshDatabase(t *testing.T) {
	srv, err := pgserver.Start(t.Context(), pgserver.Config{Fast: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := srv.Stop(); err != nil {
			t.Error(err)
		}
	}()
	model := httptest.NewServer(openaitest.New())
	defer model.Close()
	t.Setenv("BELAY_DATABASE_URL", srv.URL())
	t.Setenv("BELAY_SECRET_KEY", access.NewKey())

	for _, args := range [][]string{{"serve", "--addr", "127.0.0.1:0"}, {"token", "create", "--name", "n"}} {
		if _, err := belay(t, args...); err == nil || !strings.Contains(err.Error(), "belay migrate") {
			t.Errorf("%v on an empty database: %v", args, err)
		}
	}
	for _, want := range []string{"migrated from version 0 to", "up to date at version"} {
		if out, err := belay(t, "migrate"); err != nil || !strings.Contains(out, want) {
			t.Errorf("migrate: %q, %v", out, err)
		}
	}
	if out, err := belay(t, "token", "create", "--name", "n", "--permissions", "agent.run,agent.view"); err != nil || !regexp.MustCompile(`^belay_[0-9a-f]{64}\n$`).MatchString(out) {
		t.Errorf("token: %q, %v", out, err)
	}
	list, err := belay(t, "token", "list")
	id, _, _ := strings.Cut(list, " ")
	if err != nil || !strings.Contains(list, "valid") {
		t.Errorf("token list: %q, %v", list, err)
	}
	if out, err := belay(t, "token", "revoke", id); err != nil {
		t.Errorf("token revoke: %q, %v", out, err)
	}
	if out, err := belay(t, "token", "list"); err != nil || !strings.Contains(out, "revoked") {
		t.Errorf("token list: %q, %v", out, err)
	}
	file := filepath.Join(t.TempDir(), "belay.yaml")
	yaml := "kind: model\nkey: m\nbase_url: " + model.URL + "/v1\nmodel: m\napi_key: secret\n---\nkind: agent\nkey: a\nconfig: {model: m}\n"
	if err := os.WriteFile(file, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct{ args, want string }{
		{"--dry-run", " created"}, {"", " created"}, {"", " unchanged"},
	} {
		args := append([]string{"apply", "-f", file}, strings.Fields(step.args)...)
		if out, err := belay(t, args...); err != nil || strings.Count(out, step.want) != 2 {
			t.Errorf("apply %s: %q, %v", step.args, out, err)
		}
	}
	if out, err := belay(t, "apply", "-f", file); err != nil || out != "model m unchanged\nagent a unchanged, version 1\n" {
		t.Errorf("apply: %q, %v", out, err)
	}
	if out, err := belay(t, "doctor"); err != nil || strings.Contains(out, "FAIL") || strings.Count(out, "ok ") < 5 {
		t.Errorf("doctor: %v\n%s", err, out)
	}
	model.Close()
	if out, err := belay(t, "doctor"); err == nil || !strings.Contains(out, "FAIL  model") || !strings.Contains(out, "->") {
		t.Errorf("doctor without the model: %v\n%s", err, out)
	}
}

func TestWrongSettingsAreNamed(t *testing.T) {
	url := pgtest.DB(t)
	t.Setenv("BELAY_DATABASE_URL", url)
	for name, c := range map[string]struct{ env, value, args, want string }{
		"no database":   {"BELAY_DATABASE_URL", "", "serve", "BELAY_DATABASE_URL"},
		"bad database":  {"BELAY_DATABASE_URL", "postgres://127.0.0.1:1/x", "serve", "connect"},
		"push":          {"BELAY_PUSH", "perhaps", "serve", "BELAY_PUSH must be on or off"},
		"runs":          {"BELAY_RUNS", "0", "serve", "BELAY_RUNS must be a whole number from 1 to 1000000"},
		"project runs":  {"BELAY_PROJECT_RUNS", "many", "serve", "BELAY_PROJECT_RUNS must be a whole number from 1 to 1000000"},
		"active runs":   {"BELAY_PROJECT_ACTIVE_RUNS", "-1", "serve", "BELAY_PROJECT_ACTIVE_RUNS must be a whole number from 0 to 1000000"},
		"level":         {"BELAY_LOG_LEVEL", "loud", "serve", "BELAY_LOG_LEVEL"},
		"key":           {"BELAY_SECRET_KEY", "c2hvcnQ=", "serve", "BELAY_SECRET_KEY"},
		"ping":          {"BELAY_PING", "soon", "serve", "BELAY_PING"},
		"allow":         {"BELAY_OUTBOUND_ALLOW", "10.0.0.0/99", "serve", "BELAY_OUTBOUND_ALLOW"},
		"mcp stdio":     {"BELAY_MCP_STDIO", "yes", "serve", "BELAY_MCP_STDIO must be on or off"},
		"retain":        {"BELAY_RETAIN_RUNS", "a week", "serve", "BELAY_RETAIN_RUNS must be a duration"},
		"delays":        {"BELAY_CALLBACK_DELAYS", "5s,never", "serve", "BELAY_CALLBACK_DELAYS"},
		"proxies":       {"BELAY_TRUSTED_PROXIES", "balancer", "serve", "BELAY_TRUSTED_PROXIES"},
		"token revoke":  {"X", "", "token revoke none", "belay token list"},
		"addr":          {"BELAY_ADDR", "nowhere", "serve", "BELAY_ADDR"},
		"token project": {"X", "", "token create --name n --project none", `no project "none"`},
		"token perms":   {"X", "", "token create --name n --permissions agent.fly", "agent.fly"},
		"token name":    {"X", "", "token create", "name"},
		"apply file":    {"X", "", "apply -f /nonexistent", "-f"},
		"dev nodes":     {"X", "", "dev --nodes 99", "--nodes"},
		"dev addr":      {"X", "", "dev --addr 80", "--addr"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(c.env, c.value)
			_, err := belay(t, strings.Fields(c.args)...)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q in it", err, c.want)
			}
		})
	}
}

// What a new user sees first: dev starts everything, prints lines that work, and
// leaves no process when it ends.
func TestDevStartsWorksAndLeavesNothing(t *testing.T) {
	t.Setenv("BELAY_DATABASE_URL", "")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := newLines()
	data := t.TempDir()
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := execute(ctx, []string{"dev", "--addr", "127.0.0.1:0", "--nodes", "2", "--data", data}, out, out); err != nil {
			t.Error(err)
		}
	})
	eventually(t, "dev greets", func() bool { return strings.Contains(out.String(), "messages\" -H") })
	token := regexp.MustCompile(`BELAY_TOKEN=(\S+)`).FindStringSubmatch(out.String())[1]
	url := regexp.MustCompile(`BELAY_URL=(\S+)`).FindStringSubmatch(out.String())[1]
	db := regexp.MustCompile(`Database: (\S+)`).FindStringSubmatch(out.String())[1]
	req, _ := http.NewRequestWithContext(ctx, http.MethodPost, url+"/agents/responses", strings.NewReader(`{"model":"demo","input":"/echo hello there"}`))
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	var body bytes.Buffer
	_, _ = body.ReadFrom(res.Body)
	res.Body.Close()
	if res.StatusCode != http.StatusOK || !strings.Contains(body.String(), "hello there") {
		t.Errorf("%d %s", res.StatusCode, body.String())
	}
	http.DefaultClient.CloseIdleConnections()
	cancel()
	wg.Wait()
	one, done := context.WithTimeout(t.Context(), time.Second)
	defer done()
	if _, err := postgres.Measure(one, db); err == nil {
		t.Error("the database still runs")
	}
}
