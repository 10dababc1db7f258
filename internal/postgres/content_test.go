package postgres_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/postgres"
	"github.com/belayrun/belay/internal/turn/turntest"
)

const project = turntest.DefaultProject

// testSealer hides a secret in base64, and opens it for the same context only.
type testSealer struct{}

func (testSealer) Seal(plain []byte, context string) []byte {
	return []byte(base64.StdEncoding.EncodeToString([]byte(context + "|" + string(plain))))
}

func (testSealer) Open(sealed []byte, context string) ([]byte, error) {
	b, err := base64.StdEncoding.DecodeString(string(sealed))
	plain, ok := bytes.CutPrefix(b, []byte(context+"|"))
	if err != nil || !ok {
		return nil, errors.New("sealed for another place")
	}
	return plain, nil
}

func (testSealer) Current([]byte, string) bool { return true }

// sealing opens the bed's database once more, with a Sealer.
func (b *bed) sealing() *postgres.Store {
	b.t.Helper()
	s, err := postgres.Open(b.ctx, postgres.Config{URL: b.url, Sealer: testSealer{}})
	b.check(err)
	b.t.Cleanup(s.Close)
	return s
}

func (b *bed) is(err, want error) {
	b.t.Helper()
	if !errors.Is(err, want) {
		b.t.Errorf("err = %v, want %v", err, want)
	}
}

// field checks that an error names a field.
func (b *bed) field(err error, field string) {
	b.t.Helper()
	if f, ok := errors.AsType[*agent.FieldError](err); !ok || f.Field != field {
		b.t.Errorf("err = %v, want a fault of %s", err, field)
	}
}

func newAgent(key string) agent.Agent {
	return agent.Agent{Project: project, Key: key, Name: "Ann\x00", Active: true, Draft: agent.Config{Model: "m", Instructions: "one \x00 \u2028", Temperature: new(0.0)}}
}

func (b *bed) create(a agent.Agent) agent.Agent {
	b.t.Helper()
	made, err := b.CreateAgent(b.ctx, a)
	b.check(err)
	return made
}

func (b *bed) publish(key string) int {
	b.t.Helper()
	v, err := b.Publish(b.ctx, project, key, agent.Actor{By: "token:ann"})
	b.check(err)
	return v
}

func (b *bed) instruct(key, words string) {
	b.t.Helper()
	_, err := b.UpdateAgent(b.ctx, project, key, func(a *agent.Agent) error {
		a.Draft.Instructions = words
		return nil
	})
	b.check(err)
}

func TestProjectIsFoundByItsKey(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	id, err := b.Project(b.ctx, "default")
	b.check(err)
	if id != project {
		t.Errorf("id = %q", id)
	}
	_, err = b.Project(b.ctx, "none\x00")
	b.is(err, agent.ErrNotFound)
}

func TestAgentIsMadeOnceChangedAndDeleted(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	a := newAgent("a")
	made := b.create(a)
	if made.Name != "Ann\uFFFD" || made.Published != 0 || made.CreatedAt.IsZero() || !reflect.DeepEqual(made.Draft, a.Draft) {
		t.Errorf("made %+v", made)
	}
	_, err := b.CreateAgent(b.ctx, a)
	b.is(err, agent.ErrExists)
	got, err := b.Agent(b.ctx, project, "a")
	b.check(err)
	if !reflect.DeepEqual(got, made) {
		t.Errorf("got %+v, want %+v", got, made)
	}
	changed, err := b.UpdateAgent(b.ctx, project, "a", func(a *agent.Agent) error {
		a.Name, a.Active, a.Key, a.Project = "Bob", false, "z", "z"
		return nil
	})
	b.check(err)
	if changed.Name != "Bob" || changed.Active || changed.Key != "a" || changed.Project != project || !changed.UpdatedAt.After(made.UpdatedAt) {
		t.Errorf("changed %+v", changed)
	}
	for range 2 {
		b.check(b.DeleteAgent(b.ctx, project, "a"))
	}
	_, err = b.Agent(b.ctx, project, "a")
	b.is(err, agent.ErrNotFound)
}

func TestWhatIsNotThereIsNotFound(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	b.create(newAgent("a"))
	for _, at := range [][2]string{{project, "b"}, {"other", "a"}, {project, "a\x00"}} {
		_, err := b.Agent(b.ctx, at[0], at[1])
		b.is(err, agent.ErrNotFound)
		_, err = b.UpdateAgent(b.ctx, at[0], at[1], func(*agent.Agent) error { return errors.New("called") })
		b.is(err, agent.ErrNotFound)
		_, err = b.Publish(b.ctx, at[0], at[1], agent.Actor{})
		b.is(err, agent.ErrNotFound)
		_, err = b.Version(b.ctx, at[0], at[1], 1)
		b.is(err, agent.ErrNotFound)
		_, _, err = b.Resolve(b.ctx, at[0], at[1], nil)
		b.is(err, agent.ErrNotFound)
		_, err = b.Model(b.ctx, at[0], at[1])
		b.is(err, agent.ErrNotFound)
		b.check(b.DeleteModel(b.ctx, at[0], at[1]))
		b.check(b.DeleteAgent(b.ctx, at[0], at[1]))
	}
	foreign := newAgent("x")
	foreign.Project = "nowhere"
	_, err := b.CreateAgent(b.ctx, foreign)
	b.is(err, agent.ErrNotFound)
	b.is(b.PutModel(b.ctx, agent.Model{Project: "nowhere", Key: "m"}), agent.ErrNotFound)
}

func TestAgentsAreListedByKeyAndStatus(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	for key, active := range map[string]bool{"c": true, "a": false, "b": true, "gone": true} {
		a := newAgent(key)
		a.Active = active
		b.create(a)
	}
	b.check(b.DeleteAgent(b.ctx, project, "gone"))
	for status, want := range map[string]string{"": "[a b c]", "active": "[b c]", "disabled": "[a]"} {
		list, err := b.Agents(b.ctx, project, status)
		b.check(err)
		var keys []string
		for _, a := range list {
			keys = append(keys, a.Key)
		}
		if fmt.Sprint(keys) != want {
			t.Errorf("%q: %v, want %s", status, keys, want)
		}
	}
	_, err := b.Agents(b.ctx, project, "Active")
	b.field(err, "status")
}

func TestAnErrorInAnUpdateWritesNothing(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	made := b.create(newAgent("a"))
	_, err := b.UpdateAgent(b.ctx, project, "a", func(a *agent.Agent) error {
		a.Name = "changed"
		return &agent.FieldError{Field: "name", Message: "no"}
	})
	b.field(err, "name")
	if got, _ := b.Agent(b.ctx, project, "a"); !reflect.DeepEqual(got, made) {
		t.Errorf("got %+v", got)
	}
}

func TestUpdatesAtOnceLoseNone(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	b.create(newAgent("a"))
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			_, err := b.UpdateAgent(b.ctx, project, "a", func(a *agent.Agent) error {
				a.Draft.MaxOutputTokens++
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if a, _ := b.Agent(b.ctx, project, "a"); a.Draft.MaxOutputTokens != 20 {
		t.Errorf("%d of 20 updates are there", a.Draft.MaxOutputTokens)
	}
}

func TestPublishingMakesAVersionForEachChange(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	b.create(newAgent("a"))
	if first, again := b.publish("a"), b.publish("a"); first != 1 || again != 1 {
		t.Errorf("versions %d, %d, want 1, 1", first, again)
	}
	b.instruct("a", "two")
	if v := b.publish("a"); v != 2 {
		t.Errorf("version %d, want 2", v)
	}
	// Back to what version 1 was is a change of version 2.
	b.instruct("a", "one \x00 \u2028")
	if v := b.publish("a"); v != 3 {
		t.Errorf("version %d, want 3", v)
	}
	for v, want := range map[int]string{1: "one \x00 \u2028", 2: "two", 3: "one \x00 \u2028"} {
		c, err := b.Version(b.ctx, project, "a", v)
		b.check(err)
		if c.Instructions != want {
			t.Errorf("version %d says %q", v, c.Instructions)
		}
	}
	_, err := b.Version(b.ctx, project, "a", 4)
	b.is(err, agent.ErrNotFound)
	_, err = b.Version(b.ctx, project, "a", 0)
	b.is(err, agent.ErrNotFound)
}

func TestPublishingAtOnceMakesOneVersion(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	b.create(newAgent("a"))
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			if v, err := b.Publish(b.ctx, project, "a", agent.Actor{}); err != nil || v != 1 {
				t.Errorf("version %d, %v", v, err)
			}
		})
	}
	wg.Wait()
}

func TestResolveFindsPublishedAskedForAndDraft(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	b.create(newAgent("a"))
	_, _, err := b.Resolve(b.ctx, project, "a", nil)
	b.field(err, "version") // never published
	b.instruct("a", "one")
	b.publish("a")
	b.instruct("a", "two")
	b.publish("a")
	b.instruct("a", "draft")
	for _, tc := range []struct {
		ask  *int
		want string
		v    int
	}{{nil, "two", 2}, {new(0), "draft", 0}, {new(1), "one", 1}, {new(2), "two", 2}} {
		c, v, err := b.Resolve(b.ctx, project, "a", tc.ask)
		b.check(err)
		if c.Instructions != tc.want || v != tc.v || c.Temperature == nil {
			t.Errorf("asked for %v: version %d says %q", tc.ask, v, c.Instructions)
		}
	}
	for _, v := range []int{3, -1, 1 << 30} {
		_, _, err := b.Resolve(b.ctx, project, "a", &v)
		b.field(err, "version")
	}
	_, err = b.UpdateAgent(b.ctx, project, "a", func(a *agent.Agent) error {
		a.Active = false
		return nil
	})
	b.check(err)
	for _, v := range []*int{nil, new(0), new(1)} {
		_, _, err := b.Resolve(b.ctx, project, "a", v)
		b.field(err, "model")
	}
}

func TestADeletedKeyIsANewAgentWithoutTheOldVersions(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	old := b.create(newAgent("a"))
	b.publish("a")
	b.check(b.DeleteAgent(b.ctx, project, "a"))
	_, _, err := b.Resolve(b.ctx, project, "a", new(1))
	b.is(err, agent.ErrNotFound)
	made := b.create(newAgent("a"))
	if made.Published != 0 || !made.CreatedAt.After(old.CreatedAt) {
		t.Errorf("made %+v", made)
	}
	_, _, err = b.Resolve(b.ctx, project, "a", new(1))
	b.field(err, "version")
	_, err = b.Version(b.ctx, project, "a", 1)
	b.is(err, agent.ErrNotFound)
	// A number is never used again: a turn says which version it ran.
	if v := b.publish("a"); v != 2 {
		t.Errorf("version %d, want 2", v)
	}
}

func TestModelIsPutListedAndDeleted(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	s := b.sealing()
	m := agent.Model{
		Project: project, Key: "m", BaseURL: "http://x", Model: "gpt", APIKey: "sk-canary-1", Retries: new(0),
		Headers: map[string]string{"X-A": "b"}, Pricing: agent.Pricing{Input: 1.5}, TimeoutMS: 5,
	}
	b.check(s.PutModel(b.ctx, m))
	got, err := s.Model(b.ctx, project, "m")
	b.check(err)
	if !reflect.DeepEqual(got, m) {
		t.Errorf("got %+v", got)
	}
	list, err := b.Models(b.ctx, project)
	b.check(err)
	m.APIKey = ""
	if !reflect.DeepEqual(list, []agent.Model{m}) {
		t.Errorf("list = %+v", list)
	}
	for range 2 {
		b.check(s.DeleteModel(b.ctx, project, "m"))
	}
	_, err = s.Model(b.ctx, project, "m")
	b.is(err, agent.ErrNotFound)
}

func TestAnEmptyAPIKeyKeepsTheStoredOne(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	s := b.sealing()
	key := func() string {
		m, err := s.Model(b.ctx, project, "m")
		b.check(err)
		return m.APIKey
	}
	m := agent.Model{Project: project, Key: "m", APIKey: "one"}
	b.check(s.PutModel(b.ctx, m))
	m.APIKey, m.BaseURL = "", "http://y"
	b.check(b.PutModel(b.ctx, m)) // needs no Sealer
	if got := key(); got != "one" {
		t.Errorf("key = %q", got)
	}
	m.APIKey = "two"
	b.check(s.PutModel(b.ctx, m))
	if got := key(); got != "two" {
		t.Errorf("key = %q", got)
	}
	m.APIKey, m.APIKeyEnv = "", "KEY"
	b.check(b.PutModel(b.ctx, m))
	if got := key(); got != "" {
		t.Error("the stored key outlived the environment's")
	}
}

func TestSecretsAreStoredSealedOrNotAtAll(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	s := b.sealing()
	m := agent.Model{Project: project, Key: "m", APIKey: "sk-canary"}
	a := newAgent("a")
	a.Draft.Execution.CallbackSecret = "whsec-canary"
	_, err := b.CreateAgent(b.ctx, a)
	for _, err := range []error{err, b.PutModel(b.ctx, m)} {
		b.is(err, postgres.ErrNoSecretKey)
		if !strings.Contains(err.Error(), "BELAY_SECRET_KEY") || strings.Contains(err.Error(), "canary") {
			t.Errorf("err = %v", err)
		}
	}
	b.check(s.PutModel(b.ctx, m))
	made, err := s.CreateAgent(b.ctx, a)
	b.check(err)
	for range 2 {
		_, err = s.Publish(b.ctx, project, "a", agent.Actor{})
		b.check(err)
	}
	if n := b.count(`SELECT count(*) FROM (
		SELECT encode(api_key, 'escape') || config::text AS x FROM models UNION ALL
		SELECT draft::text FROM agents UNION ALL SELECT config::text FROM agent_versions) t WHERE x ILIKE '%canary%'`); n != 0 {
		t.Errorf("%d rows hold a secret", n)
	}
	if n := b.count("SELECT count(*) FROM agent_versions"); n != 1 {
		t.Errorf("%d versions of one draft", n)
	}
	got, err := s.Agent(b.ctx, project, "a")
	b.check(err)
	resolved, _, err := s.Resolve(b.ctx, project, "a", nil)
	b.check(err)
	for _, secret := range []string{made.Draft.Execution.CallbackSecret, got.Draft.Execution.CallbackSecret, resolved.Execution.CallbackSecret} {
		if secret != "whsec-canary" {
			t.Errorf("secret = %q", secret)
		}
	}
	list, err := b.Agents(b.ctx, project, "")
	b.check(err)
	if list[0].Draft.Execution.CallbackSecret != "" {
		t.Error("a list holds a secret")
	}
	_, err = b.Model(b.ctx, project, "m")
	b.is(err, postgres.ErrNoSecretKey)
}

func TestASealedSecretIsGoodForItsOwnAgentOnly(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	s := b.sealing()
	a := newAgent("a")
	a.Draft.Execution.CallbackSecret = "x"
	_, err := s.CreateAgent(b.ctx, a)
	b.check(err)
	b.create(newAgent("b"))
	b.exec("UPDATE agents SET draft = (SELECT draft FROM agents WHERE key = 'a') WHERE key = 'b'")
	if _, err := s.Agent(b.ctx, project, "b"); err == nil {
		t.Error("the secret of another agent was opened")
	}
}

func TestApplyWritesAllOrNothing(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	s := b.sealing()
	models := []agent.Model{{Key: "m", APIKey: "k"}, {Key: "l"}}
	agents := []agent.Agent{newAgent("b"), newAgent("a")}
	for want := range 2 {
		agents[0].Draft.Instructions = fmt.Sprint(want)
		versions, err := s.Apply(b.ctx, project, agent.Declared{Models: models, Agents: agents}, "apply")
		b.check(err)
		if !reflect.DeepEqual(versions, map[string]int{"a": 1, "b": want + 1}) {
			t.Errorf("versions = %v", versions)
		}
	}
	models[1].BaseURL = "changed"
	_, err := b.Apply(b.ctx, project, agent.Declared{Models: models, Agents: agents}, "apply") // cannot seal
	b.is(err, postgres.ErrNoSecretKey)
	if m, _ := s.Model(b.ctx, project, "l"); m.BaseURL != "" {
		t.Error("half of it was written")
	}
	b.check(s.DeleteAgent(b.ctx, project, "a"))
	versions, err := s.Apply(b.ctx, project, agent.Declared{Agents: agents}, "apply")
	b.check(err)
	if !reflect.DeepEqual(versions, map[string]int{"a": 2, "b": 2}) {
		t.Errorf("versions = %v", versions)
	}
}

func TestAppliesAtOnceDoNotBlockEachOther(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	agents := []agent.Agent{newAgent("a"), newAgent("b"), newAgent("c")}
	turned := []agent.Agent{agents[2], agents[1], agents[0]}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			list := agents
			if i%2 == 0 {
				list = turned
			}
			if _, err := b.Apply(b.ctx, project, agent.Declared{Agents: list}, ""); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func newToken(id string) (agent.Token, []byte) {
	return agent.Token{
		ID: id, Project: project, Name: "ci", Prefix: "belay_abc123",
		Permissions: []agent.Permission{agent.PermAgentRun, agent.PermAgentView},
	}, bytes.Repeat([]byte(id)[:1], 32)
}

func TestTokenIsFoundByItsHashUntilRevoked(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	token, hash := newToken("1")
	b.check(b.CreateToken(b.ctx, token, hash, agent.Actor{}))
	b.is(b.CreateToken(b.ctx, token, hash, agent.Actor{}), agent.ErrExists)
	got, err := b.TokenByHash(b.ctx, hash)
	b.check(err)
	if got.CreatedAt.IsZero() || !got.LastUsedAt.IsZero() {
		t.Errorf("got %+v", got)
	}
	got.CreatedAt = time.Time{}
	if !reflect.DeepEqual(got, token) {
		t.Errorf("got %+v, want %+v", got, token)
	}
	b.check(b.RevokeToken(b.ctx, "other", "1", agent.Actor{}))
	_, err = b.TokenByHash(b.ctx, hash)
	b.check(err)
	for range 2 {
		b.check(b.RevokeToken(b.ctx, project, "1", agent.Actor{}))
	}
	_, err = b.TokenByHash(b.ctx, hash)
	b.is(err, agent.ErrNotFound)
	b.check(b.RevokeToken(b.ctx, project, "none", agent.Actor{}))
	_, err = b.TokenByHash(b.ctx, nil)
	b.is(err, agent.ErrNotFound)
	list, err := b.Tokens(b.ctx, project)
	b.check(err)
	if len(list) != 1 || list[0].RevokedAt.IsZero() {
		t.Errorf("list = %+v", list)
	}
	foreign, hash := newToken("2")
	foreign.Project = "nowhere"
	b.is(b.CreateToken(b.ctx, foreign, hash, agent.Actor{}), agent.ErrNotFound)
}

func TestTokenExpiresByTheDatabasesClock(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	for id, left := range map[string]time.Duration{"1": time.Hour, "2": -time.Second} {
		token, hash := newToken(id)
		token.ExpiresAt = time.Now().Add(left).Truncate(time.Microsecond).UTC()
		b.check(b.CreateToken(b.ctx, token, hash, agent.Actor{}))
		got, err := b.TokenByHash(b.ctx, hash)
		if left < 0 {
			b.is(err, agent.ErrNotFound)
			continue
		}
		b.check(err)
		if !got.ExpiresAt.Equal(token.ExpiresAt) {
			t.Errorf("expires %v, want %v", got.ExpiresAt, token.ExpiresAt)
		}
	}
}

func TestUseOfATokenIsNotedOnceAMinuteAndNobodyWaits(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	token, hash := newToken("1")
	b.check(b.CreateToken(b.ctx, token, hash, agent.Actor{}))
	find := func() {
		t.Helper()
		_, err := b.TokenByHash(b.ctx, hash)
		b.check(err)
	}
	rewrites := func() int { return b.count("SELECT xmin::text::int FROM api_tokens") }
	made := rewrites()
	find()
	noted := rewrites()
	if noted == made {
		t.Error("its use was not noted")
	}
	for range 5 {
		find()
	}
	if rewrites() != noted {
		t.Error("its use was noted again within a minute")
	}
	b.exec("UPDATE api_tokens SET last_used_at = clock_timestamp() - interval '2 minutes'")
	tx, err := b.connect().Begin(b.ctx)
	b.check(err)
	defer tx.Rollback(b.ctx)
	_, err = tx.Exec(b.ctx, "SELECT FROM api_tokens FOR UPDATE")
	b.check(err)
	find() // the row is locked by another: not noted, and not waited for
	b.check(tx.Rollback(b.ctx))
	find()
	if n := b.count("SELECT count(*) FROM api_tokens WHERE last_used_at > clock_timestamp() - interval '30 seconds'"); n != 1 {
		t.Error("its use was not noted after two minutes")
	}
}
