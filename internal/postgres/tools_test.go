package postgres_test

import (
	"reflect"
	"strings"
	"testing"

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
	got, err := b.Tool(b.ctx, project, "pets") // needs no Sealer
	b.check(err)
	list, err := b.Tools(b.ctx, project)
	b.check(err)
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
