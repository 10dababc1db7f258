package postgres_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/postgres"
)

func sharedTool(secret string) agent.SharedTool {
	return agent.SharedTool{
		Project: project, Key: "pets", Source: agent.SourceOpenAPI, Secret: secret,
		OpenAPI: &agent.OpenAPISource{Document: "d", Auth: &agent.ToolAuth{Type: "bearer", Secret: "pets"}},
	}
}

func TestSharedToolsComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	s := b.sealing()
	b.check(s.PutTool(b.ctx, sharedTool("tool-canary")))
	want := sharedTool("")
	want.HasSecret = true
	got, err := b.Tool(b.ctx, project, "pets") // needs no Sealer
	b.check(err)
	list, err := b.Tools(b.ctx, project)
	b.check(err)
	want.CreatedAt, want.UpdatedAt = got.CreatedAt, got.UpdatedAt
	if time.Since(got.CreatedAt).Abs() > time.Minute || got.UpdatedAt.Before(got.CreatedAt) {
		t.Errorf("made at %v, changed at %v", got.CreatedAt, got.UpdatedAt)
	}
	if !reflect.DeepEqual(got, want) || !reflect.DeepEqual(list, []agent.SharedTool{want}) {
		t.Errorf("got %+v and %+v", got, list)
	}
	if n := b.count(`SELECT count(*) FROM tools t WHERE t::text ILIKE '%canary%' OR encode(secret, 'escape') LIKE '%canary%'`); n != 0 {
		t.Error("the secret is stored as it is")
	}
	want.OpenAPI = &agent.OpenAPISource{DocumentURL: "http://x"}
	b.check(b.PutTool(b.ctx, want)) // keeps the secret
	if secret, err := s.Secret(b.ctx, project, "pets"); err != nil || secret != "tool-canary" {
		t.Errorf("secret = %q, %v", secret, err)
	}
	_, err = b.Secret(b.ctx, project, "pets")
	b.is(err, postgres.ErrNoSecretKey)
	for range 2 {
		b.check(s.DeleteTool(b.ctx, project, "pets"))
	}
	_, err = s.Tool(b.ctx, project, "pets")
	b.is(err, agent.ErrNotFound)
	_, err = s.Secret(b.ctx, project, "pets")
	b.is(err, agent.ErrNotFound)
}

func TestAToolWithoutASecretHasNone(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	b.check(b.PutTool(b.ctx, sharedTool("")))
	_, err := b.Secret(b.ctx, project, "pets")
	b.is(err, agent.ErrNotFound)
	err = b.PutTool(b.ctx, sharedTool("tool-canary"))
	b.is(err, postgres.ErrNoSecretKey)
	if strings.Contains(err.Error(), "canary") {
		t.Errorf("err = %v", err)
	}
	other := sharedTool("")
	other.Project = "nowhere"
	b.is(b.PutTool(b.ctx, other), agent.ErrNotFound)
	_, err = b.Tool(b.ctx, "nowhere", "pets")
	b.is(err, agent.ErrNotFound)
}

func TestASealedSecretIsGoodForItsOwnToolOnly(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	s := b.sealing()
	b.check(s.PutTool(b.ctx, sharedTool("s1")))
	b.exec("INSERT INTO tools (project_id, key, config, secret) SELECT project_id, 'other', config, secret FROM tools")
	if secret, err := s.Secret(b.ctx, project, "other"); err == nil {
		t.Errorf("the secret of another tool was opened: %q", secret)
	}
}

func TestApplyWritesSharedTools(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	a := newAgent("a")
	a.Draft.Tools = []agent.ToolRef{{Source: agent.SourceOpenAPI, Key: "pets"}}
	_, err := b.Apply(b.ctx, project, agent.Declared{Tools: []agent.SharedTool{sharedTool("s1")}, Agents: []agent.Agent{a}}, "") // cannot seal
	b.is(err, postgres.ErrNoSecretKey)
	_, err = b.Agent(b.ctx, project, "a")
	b.is(err, agent.ErrNotFound)
	s := b.sealing()
	_, err = s.Apply(b.ctx, project, agent.Declared{Tools: []agent.SharedTool{sharedTool("s1")}, Agents: []agent.Agent{a}}, "")
	b.check(err)
	if secret, err := s.Secret(b.ctx, project, "pets"); err != nil || secret != "s1" {
		t.Errorf("secret = %q, %v", secret, err)
	}
}

func TestASharedToolIsReplacedAsItWasRead(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	s := b.sealing()
	_, err := b.CreateTool(b.ctx, sharedTool("s1"))
	b.is(err, postgres.ErrNoSecretKey)
	made, err := s.CreateTool(b.ctx, sharedTool("s1"))
	b.check(err)
	if made.Secret != "" || !made.HasSecret || made.Project != project || made.Key != "pets" {
		t.Errorf("made %+v", made)
	}
	_, err = s.CreateTool(b.ctx, sharedTool(""))
	b.is(err, agent.ErrExists)
	nowhere := sharedTool("")
	nowhere.Project = "nowhere"
	_, err = s.CreateTool(b.ctx, nowhere)
	b.is(err, agent.ErrNotFound)

	made.OpenAPI = &agent.OpenAPISource{DocumentURL: "http://x"}
	kept, err := b.ReplaceTool(b.ctx, made) // needs no Sealer
	b.check(err)
	if secret, err := s.Secret(b.ctx, project, "pets"); err != nil || secret != "s1" || !kept.HasSecret || !kept.UpdatedAt.After(made.UpdatedAt) {
		t.Errorf("secret = %q, %v; %+v", secret, err, kept)
	}
	_, err = b.ReplaceTool(b.ctx, made) // as it was read first
	b.is(err, agent.ErrChanged)
	kept.Secret = "s2"
	changed, err := s.ReplaceTool(b.ctx, kept)
	b.check(err)
	if secret, err := s.Secret(b.ctx, project, "pets"); err != nil || secret != "s2" {
		t.Errorf("secret = %q, %v", secret, err)
	}
	changed.HasSecret = false
	if changed, err = b.ReplaceTool(b.ctx, changed); err != nil || changed.HasSecret {
		t.Errorf("%+v, %v", changed, err)
	}
	_, err = s.Secret(b.ctx, project, "pets")
	b.is(err, agent.ErrNotFound)
	b.check(s.DeleteTool(b.ctx, project, "pets"))
	_, err = b.ReplaceTool(b.ctx, changed)
	b.is(err, agent.ErrChanged)
}

func TestASharedToolThatIsNeededIsNotDeleted(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	b.check(b.PutTool(b.ctx, sharedTool("")))
	own := newAgent("own") // does not need it
	own.Draft.Tools = []agent.ToolRef{
		{Source: agent.SourceOpenAPI, Key: "pets", OpenAPI: &agent.OpenAPISource{Document: "d"}},
		{Source: agent.SourceFunction, Key: "pets"}, {Source: agent.SourceMCP, Key: "pets"},
	}
	_, err := b.CreateAgent(b.ctx, own)
	b.check(err)
	for _, key := range []string{"shares", "secretly", "published", "gone"} {
		a := newAgent(key)
		a.Draft.Tools = []agent.ToolRef{{Source: agent.SourceOpenAPI, Key: "pets"}}
		if key == "secretly" {
			a.Draft.Tools = []agent.ToolRef{{Source: agent.SourceMCP, Key: "m", MCP: &agent.MCPSource{URL: "http://x", Auth: &agent.ToolAuth{Type: "bearer", Secret: "pets"}}}}
		}
		_, err := b.CreateAgent(b.ctx, a)
		b.check(err)
	}
	_, err = b.Publish(b.ctx, project, "published", agent.Actor{By: "me"})
	b.check(err)
	_, err = b.UpdateAgent(b.ctx, project, "published", func(a *agent.Agent) error { a.Draft.Tools = nil; return nil })
	b.check(err)
	b.check(b.DeleteAgent(b.ctx, project, "gone"))
	other := sharedTool("")
	other.Key = "other"
	b.check(b.PutTool(b.ctx, other)) // its auth names pets

	users, ok := errors.AsType[*agent.InUseError](b.DeleteTool(b.ctx, project, "pets"))
	want := []string{"agent published", "agent secretly", "agent shares", "tool other"}
	if !ok || !slices.Equal(users.By, want) {
		t.Errorf("in use by %v, want %v", users, want)
	}
	_, err = b.Tool(b.ctx, project, "pets")
	b.check(err)
	b.check(b.DeleteTool(b.ctx, project, "other"))
	for _, key := range []string{"published", "secretly", "shares"} {
		b.check(b.DeleteAgent(b.ctx, project, key))
	}
	b.check(b.DeleteTool(b.ctx, project, "pets"))
	_, err = b.Tool(b.ctx, project, "pets")
	b.is(err, agent.ErrNotFound)
}
