package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/postgres"
)

// keySealer seals with the first of its keys, which are a byte each, and opens
// with all.
type keySealer struct {
	testSealer
	keys string
	// opened is called with each secret that is opened; nil: nobody is told.
	opened func(plain string)
}

func (s keySealer) Seal(plain []byte, context string) []byte {
	return append([]byte{s.keys[0]}, s.testSealer.Seal(plain, context)...)
}

func (s keySealer) Open(sealed []byte, context string) ([]byte, error) {
	if len(sealed) == 0 || !bytes.ContainsRune([]byte(s.keys), rune(sealed[0])) {
		return nil, errors.New("no key opens it")
	}
	plain, err := s.testSealer.Open(sealed[1:], context)
	if err == nil && s.opened != nil {
		s.opened(string(plain))
	}
	return plain, err
}

func (s keySealer) Current(sealed []byte, _ string) bool { return sealed[0] == s.keys[0] }

func (b *bed) keys(keys string) *postgres.Store {
	b.t.Helper()
	return b.with(keySealer{keys: keys})
}

func (b *bed) with(sealer postgres.Sealer) *postgres.Store {
	b.t.Helper()
	s, err := postgres.Open(b.ctx, postgres.Config{URL: b.url, Sealer: sealer})
	b.check(err)
	b.t.Cleanup(s.Close)
	return s
}

// sums adds up counts as current, old, resealed and unreadable.
func sums(list []postgres.SecretCount, err error) string {
	var n [4]int
	for _, c := range list {
		n[0], n[1], n[2], n[3] = n[0]+c.Current, n[1]+c.Old, n[2]+c.Resealed, n[3]+len(c.Unreadable)
	}
	return fmt.Sprint(n, " ", err)
}

// keepSecrets stores a secret of every kind: 8, one of an agent in three places.
func (b *bed) keepSecrets(s *postgres.Store) {
	b.t.Helper()
	m := agent.Model{Project: project, Key: "gpt", Model: "x", BaseURL: "http://x", APIKey: "of-model"}
	b.check(s.PutModel(b.ctx, m))
	b.check(s.PutTool(b.ctx, sharedTool("of-tool")))
	b.check(s.PutPortal(b.ctx, agent.Portal{Project: project, Slug: "door", Agent: "a", Secret: "of-portal"}))
	a := newAgent("a")
	a.Draft.Execution.CallbackURL, a.Draft.Execution.CallbackSecret = "http://x", "of-agent \x00 é?>"
	a.Draft.Instructions = `say "callback_secret":"sealed:AAAA"`
	_, err := s.CreateAgent(b.ctx, a)
	b.check(err)
	for _, words := range []string{"one", "two"} {
		_, err = s.UpdateAgent(b.ctx, project, "a", func(a *agent.Agent) error { a.Name = words; a.Draft.Model = words; return nil })
		b.check(err)
		_, err = s.Publish(b.ctx, project, "a", agent.Actor{By: "me"})
		b.check(err)
	}
	run := newBegin("")
	run.Callbacks = []agent.Callback{
		{Kind: agent.CallbackRun, URL: "http://x", Secret: "of-run"},
		{Kind: agent.CallbackA2A, Name: "c/1", URL: "http://x", Headers: map[string]string{"x": "of-push"}},
	}
	_, err = s.Take(b.ctx, run)
	b.check(err)
	b.check(s.PutTool(b.ctx, agent.SharedTool{Project: project, Key: "open", Source: agent.SourceMCP, MCP: &agent.MCPSource{URL: "http://x"}}))
}

func (b *bed) secretsOpen(s *postgres.Store) {
	b.t.Helper()
	m, err := s.Model(b.ctx, project, "gpt")
	if err != nil || m.APIKey != "of-model" {
		b.t.Errorf("model: %q, %v", m.APIKey, err)
	}
	if secret, err := s.Secret(b.ctx, project, "pets"); err != nil || secret != "of-tool" {
		b.t.Errorf("tool: %q, %v", secret, err)
	}
	if secret, err := s.PortalSecret(b.ctx, "door"); err != nil || secret != "of-portal" {
		b.t.Errorf("portal: %q, %v", secret, err)
	}
	var run string
	b.check(b.raw.QueryRow(b.ctx, "SELECT id FROM turns").Scan(&run))
	if list, err := s.Callbacks(b.ctx, run, agent.CallbackA2A); err != nil || list[0].Headers["x"] != "of-push" {
		b.t.Errorf("callback: %+v, %v", list, err)
	}
	for version := range 3 {
		c, _, err := s.Resolve(b.ctx, project, "a", &version)
		if err != nil || c.Execution.CallbackSecret != "of-agent \x00 é?>" || c.Instructions != `say "callback_secret":"sealed:AAAA"` {
			b.t.Errorf("version %d: %+v, %v", version, c, err)
		}
	}
}

func TestAllSecretsAreSealedAnew(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	b.keepSecrets(b.keys("o"))
	both := b.keys("no")
	for _, step := range []struct{ what, got, want string }{
		{"with the old key", sums(b.keys("o").Secrets(b.ctx)), "[8 0 0 0] <nil>"},
		{"with both", sums(both.Secrets(b.ctx)), "[0 8 0 0] <nil>"},
		{"with the new key", sums(b.keys("n").Secrets(b.ctx)), "[0 0 0 8] <nil>"},
		{"without a key", sums(b.Secrets(b.ctx)), "[0 0 0 8] <nil>"},
		{"sealed anew without the old key", sums(b.keys("n").Reseal(b.ctx)), "[0 0 0 8] <nil>"},
		{"sealed anew", sums(both.Reseal(b.ctx)), "[8 0 8 0] <nil>"},
		{"sealed anew again", sums(both.Reseal(b.ctx)), "[8 0 0 0] <nil>"},
		{"with the new key alone", sums(b.keys("n").Secrets(b.ctx)), "[8 0 0 0] <nil>"},
		{"with the old key alone", sums(b.keys("o").Secrets(b.ctx)), "[0 0 0 8] <nil>"},
	} {
		if step.got != step.want {
			t.Errorf("%s: %s, want %s", step.what, step.got, step.want)
		}
	}
	_, err := b.Reseal(b.ctx)
	b.is(err, postgres.ErrNoSecretKey)
	b.secretsOpen(b.keys("n"))
}

// TestASecretThatIsReplacedMeanwhileIsKept: what a node stores between the
// reading and the writing is not overwritten, and is sealed anew after all.
func TestASecretThatIsReplacedMeanwhileIsKept(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	old := b.keys("o")
	b.keepSecrets(old)
	replaced := map[string]bool{}
	s := b.with(keySealer{keys: "no", opened: func(plain string) {
		if plain == "of-tool" && !replaced[plain] {
			replaced[plain] = true
			b.check(old.PutTool(context.WithoutCancel(b.ctx), sharedTool("newer")))
		}
	}})
	if got := sums(s.Reseal(b.ctx)); got != "[8 0 8 0] <nil>" {
		t.Errorf("sealed anew: %s", got)
	}
	if secret, err := b.keys("n").Secret(b.ctx, project, "pets"); err != nil || secret != "newer" {
		t.Errorf("secret = %q, %v", secret, err)
	}
}

// TestResealKnowsEveryPlaceOfSecrets: a column of bytes that is new is either
// one of sealed secrets, and then a vault, or named here.
func TestResealKnowsEveryPlaceOfSecrets(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	b.keepSecrets(b.keys("o"))
	_, err := b.keys("no").Reseal(b.ctx)
	b.check(err)
	plain := []string{"api_tokens.hash", "deliveries.body", "idempotency_keys.request", "river_job.unique_key", "sign_ins.hash", "sign_in_failures.key"}
	rows, err := b.raw.Query(b.ctx, `SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public' AND data_type = 'bytea'`)
	b.check(err)
	columns := map[string][2]string{}
	var table, column string
	_, err = pgx.ForEachRow(rows, []any{&table, &column}, func() error {
		columns[table+"."+column] = [2]string{table, column}
		return nil
	})
	b.check(err)
	for _, name := range slices.Sorted(maps.Keys(columns)) {
		c := columns[name]
		if slices.Contains(plain, name) {
			continue
		}
		if n := b.count(fmt.Sprintf(`SELECT count(*) FROM %s WHERE get_byte(%s, 0) = ascii('n')`, c[0], c[1])); n == 0 {
			t.Errorf("no secret of %s was sealed anew: give it a vault and keepSecrets a secret of it, or name it here", name)
		}
	}
}
