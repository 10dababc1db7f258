package manifest_test

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"strings"
	"testing"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/manifest"
)

// fakeStore is a project's models and agents.
type fakeStore struct {
	models   map[string]agent.Model
	tools    map[string]agent.SharedTool
	portals  map[string]agent.Portal
	agents   map[string]agent.Agent
	versions map[string][]agent.Config
	writes   int
	modelErr error // of Model and Secret
	applyErr error
}

func newFakeStore() *fakeStore {
	return &fakeStore{models: map[string]agent.Model{}, tools: map[string]agent.SharedTool{}, agents: map[string]agent.Agent{}, portals: map[string]agent.Portal{}, versions: map[string][]agent.Config{}}
}

func (f *fakeStore) Models(context.Context, string) ([]agent.Model, error) {
	var out []agent.Model
	for m := range maps.Values(f.models) {
		m.APIKey = ""
		out = append(out, m)
	}
	return out, nil
}

func (f *fakeStore) Model(_ context.Context, _, key string) (agent.Model, error) {
	return f.models[key], f.modelErr
}

func (f *fakeStore) Tools(context.Context, string) ([]agent.SharedTool, error) {
	var out []agent.SharedTool
	for t := range maps.Values(f.tools) {
		t.Secret = ""
		out = append(out, t)
	}
	return out, nil
}

func (f *fakeStore) Secret(_ context.Context, _, key string) (string, error) {
	return f.tools[key].Secret, f.modelErr
}

func (f *fakeStore) Portal(_ context.Context, slug string) (agent.Portal, error) {
	p, ok := f.portals[slug]
	if !ok {
		return p, agent.ErrNotFound
	}
	p.Secret = ""
	return p, nil
}

func (f *fakeStore) PortalSecret(_ context.Context, slug string) (string, error) {
	return f.portals[slug].Secret, f.modelErr
}

func (f *fakeStore) Agent(_ context.Context, _, key string) (agent.Agent, error) {
	a, ok := f.agents[key]
	if !ok {
		return a, agent.ErrNotFound
	}
	return a, nil
}

func (f *fakeStore) Version(_ context.Context, _, key string, version int) (agent.Config, error) {
	return f.versions[key][version-1], nil
}

func (f *fakeStore) Apply(_ context.Context, project string, d agent.Declared, _ string) (map[string]int, error) {
	if f.applyErr != nil {
		return nil, f.applyErr
	}
	f.writes++
	for _, m := range d.Models {
		if m.APIKey == "" && m.APIKeyEnv == "" {
			m.APIKey = f.models[m.Key].APIKey
		}
		m.Project = project
		f.models[m.Key] = m
	}
	for _, t := range d.Tools {
		if t.Secret == "" {
			t.Secret = f.tools[t.Key].Secret
		}
		t.Project = project
		f.tools[t.Key] = t
	}
	for _, p := range d.Portals {
		if p.Secret == "" {
			p.Secret = f.portals[p.Slug].Secret
		}
		p.Project = project
		f.portals[p.Slug] = p
	}
	out := map[string]int{}
	for _, a := range d.Agents {
		f.versions[a.Key] = append(f.versions[a.Key], a.Draft)
		a.Published = len(f.versions[a.Key])
		f.agents[a.Key], out[a.Key] = a, a.Published
	}
	return out, nil
}

const small = `kind: agent
key: a
config: {model: m}
---
kind: model
key: m
base_url: http://x
model: m
api_key: k1
`

func apply(t *testing.T, s *fakeStore, text string) []manifest.Change {
	t.Helper()
	changes, err := manifest.Apply(t.Context(), s, "p", parse(t, text), false)
	if err != nil {
		t.Fatal(err)
	}
	return changes
}

func wantChanges(t *testing.T, got []manifest.Change, want ...manifest.Change) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("changes = %+v, want %+v", got, want)
	}
}

func TestApplyCreatesThenChangesNothing(t *testing.T) {
	t.Parallel()
	s := newFakeStore()
	wantChanges(t, apply(t, s, small),
		manifest.Change{Kind: "model", Key: "m", Action: manifest.Created}, manifest.Change{Kind: "agent", Key: "a", Action: manifest.Created, Version: 1})
	wantChanges(t, apply(t, s, small),
		manifest.Change{Kind: "model", Key: "m", Action: manifest.Unchanged}, manifest.Change{Kind: "agent", Key: "a", Action: manifest.Unchanged, Version: 1})
	if s.writes != 1 || !s.agents["a"].Active || s.models["m"].APIKey != "k1" {
		t.Errorf("%d writes, stored %+v", s.writes, s)
	}
}

func TestApplyWritesOnlyWhatIsDifferent(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		prepare      func(*fakeStore)
		old, new     string
		model, agent manifest.Action
		version      int
	}{
		"instructions":             {nil, "{model: m}", "{model: m, instructions: hi}", manifest.Unchanged, manifest.Updated, 2},
		"name":                     {nil, "key: a\n", "key: a\nname: A\n", manifest.Unchanged, manifest.Updated, 2},
		"status":                   {nil, "key: a\n", "key: a\nstatus: disabled\n", manifest.Unchanged, manifest.Updated, 2},
		"URL":                      {nil, "http://x", "http://y", manifest.Updated, manifest.Unchanged, 1},
		"API key":                  {nil, "k1", "k2", manifest.Updated, manifest.Unchanged, 1},
		"API key left out":         {nil, "api_key: k1\n", "", manifest.Unchanged, manifest.Unchanged, 1},
		"API key from elsewhere":   {nil, "api_key: k1\n", "api_key_env: K\n", manifest.Updated, manifest.Unchanged, 1},
		"a spelled out default":    {nil, "{model: m}", "{model: m, limits: {max_tool_calls: 0}, tools: []}", manifest.Unchanged, manifest.Unchanged, 1},
		"a draft made since":       {func(s *fakeStore) { edit(s, func(a *agent.Agent) { a.Draft.Instructions = "x" }) }, "", "", manifest.Unchanged, manifest.Updated, 2},
		"unpublished":              {func(s *fakeStore) { edit(s, func(a *agent.Agent) { a.Published = 0 }) }, "", "", manifest.Unchanged, manifest.Updated, 2},
		"published otherwise":      {func(s *fakeStore) { s.versions["a"][0].Instructions = "x" }, "", "", manifest.Unchanged, manifest.Updated, 2},
		"a key that can't be read": {func(s *fakeStore) { s.modelErr = errors.New("sealed with another key") }, "", "", manifest.Updated, manifest.Unchanged, 1},
	} {
		s := newFakeStore()
		apply(t, s, small)
		if tc.prepare != nil {
			tc.prepare(s)
		}
		text := strings.Replace(small, tc.old, tc.new, 1)
		before := *s
		dry, err := manifest.Apply(t.Context(), s, "p", parse(t, text), true)
		if err != nil || !reflect.DeepEqual(before, *s) {
			t.Errorf("%s: a dry run wrote, or failed: %v", name, err)
		}
		got := apply(t, s, text)
		if got[0].Action != tc.model || got[1].Action != tc.agent || got[1].Version != tc.version {
			t.Errorf("%s: %+v", name, got)
		}
		if dry[0].Action != got[0].Action || dry[1].Action != got[1].Action {
			t.Errorf("%s: the dry run said %+v", name, dry)
		}
		if strings.Contains(text, "k1") && s.models["m"].APIKey != "k1" || tc.new == "" && s.models["m"].APIKey != "k1" {
			t.Errorf("%s: the API key is gone", name)
		}
	}
}

func edit(s *fakeStore, fn func(*agent.Agent)) {
	a := s.agents["a"]
	fn(&a)
	s.agents["a"] = a
}

func TestModelsThatAreNowhereAreToldAndNothingIsWritten(t *testing.T) {
	t.Parallel()
	s := newFakeStore()
	s.models["stored"] = agent.Model{Key: "stored"}
	text := model("here") + "---\nkind: agent\nkey: a\nconfig:\n  model: gone\n  fallback_models: [here, stored, lost]\n"
	changes, err := manifest.Apply(t.Context(), s, "p", parse(t, text), false)
	want := "belay.yaml: document 2, line 9, column 10: config.model: agent a names the model gone, which is neither declared here nor stored\n" +
		"belay.yaml: document 2, line 10, column 35: config.fallback_models[2]: agent a names the model lost, which is neither declared here nor stored"
	if err == nil || err.Error() != want {
		t.Errorf("err = %v", err)
	}
	if changes != nil || s.writes != 0 {
		t.Error("something was written")
	}
}

const withTool = `kind: tool
key: pets
source: openapi
openapi: {document: d, base_url: http://x, auth: {type: bearer, secret: pets}}
secret: s1
---
kind: agent
key: a
config:
  model: m
  tools: [{source: openapi, key: pets}]
`

func TestApplyOfASharedTool(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		old, new, secret string
		want             manifest.Action
	}{
		"nothing":                     {"", "", "s1", manifest.Unchanged},
		"its URL":                     {"http://x", "http://y", "s1", manifest.Updated},
		"its secret":                  {"secret: s1", "secret: s2", "s2", manifest.Updated},
		"its secret left out":         {"secret: s1\n", "", "s1", manifest.Unchanged},
		"its secret left out and URL": {"http://x, auth: {type: bearer, secret: pets}}\nsecret: s1\n", "http://y}\n", "s1", manifest.Updated},
	} {
		s := newFakeStore()
		s.models["m"] = agent.Model{Key: "m"}
		wantChanges(t, apply(t, s, withTool),
			manifest.Change{Kind: "tool", Key: "pets", Action: manifest.Created}, manifest.Change{Kind: "agent", Key: "a", Action: manifest.Created, Version: 1})
		got := apply(t, s, strings.Replace(withTool, tc.old, tc.new, 1))
		wantChanges(t, got, manifest.Change{Kind: "tool", Key: "pets", Action: tc.want}, manifest.Change{Kind: "agent", Key: "a", Action: manifest.Unchanged, Version: 1})
		if got := s.tools["pets"].Secret; got != tc.secret {
			t.Errorf("%s: the secret is %q", name, got)
		}
	}
}

func TestToolsThatAreNowhereAreToldAndNothingIsWritten(t *testing.T) {
	t.Parallel()
	s := newFakeStore()
	s.models["m"] = agent.Model{Key: "m"}
	s.tools["other"] = agent.SharedTool{Key: "other", Source: "mcp"}
	text := `kind: tool
key: pets
source: openapi
openapi: {document: d, auth: {type: bearer, secret: gone}}
---
kind: agent
key: a
config:
  model: m
  tools:
    - {source: openapi, key: lost}
    - {source: openapi, key: other}
    - {source: openapi, key: own, openapi: {document: d, auth: {type: bearer, secret: nowhere}}}
    - {source: function, key: pets}
`
	_, err := manifest.Apply(t.Context(), s, "p", parse(t, text), false)
	want := "belay.yaml: document 1, line 4, column 53: openapi.auth.secret: tool pets names the tool gone, which is neither declared here nor stored\n" +
		"belay.yaml: document 2, line 11, column 30: config.tools[0].key: agent a names the tool lost, which is neither declared here nor stored\n" +
		"belay.yaml: document 2, line 12, column 30: config.tools[1].key: agent a names the tool other, whose source is mcp, not openapi\n" +
		"belay.yaml: document 2, line 13, column 87: config.tools[2].openapi.auth.secret: agent a names the tool nowhere, which is neither declared here nor stored"
	if err == nil || err.Error() != want || s.writes != 0 {
		t.Errorf("err = %v", err)
	}
}

func TestCheckToolsTellsWhereAToolCannotBeUsed(t *testing.T) {
	t.Parallel()
	m := parse(t, withTool+"    \n---\nkind: agent\nkey: b\nconfig:\n  model: m\n  tools:\n    - {source: function, key: f}\n    - {source: openapi, key: own, openapi: {document: e}}\n    - {source: openapi, key: else}\n")
	err := m.CheckTools(func(ref agent.ToolRef) ([]string, error) {
		switch ref.Key {
		case "pets":
			return nil, &agent.FieldError{Field: "openapi.document", Message: "can't be used"}
		case "own":
			return nil, &agent.FieldError{Field: "openapi.base_url", Message: "is required"}
		}
		return nil, errors.New("is down")
	})
	want := "belay.yaml: document 1, line 4, column 21: openapi.document: can't be used\n" +
		"belay.yaml: document 3, line 20, column 44: config.tools[1].openapi.base_url: is required\n" +
		"belay.yaml: document 3, line 21, column 7: config.tools[2]: is down"
	if err == nil || err.Error() != want {
		t.Errorf("err = %v", err)
	}
	if err := m.CheckTools(func(agent.ToolRef) ([]string, error) { return nil, nil }); err != nil {
		t.Error(err)
	}
}

// A rule about a tool that is not there guards nothing: it is a fault where all
// tools of the agent can be known.
func TestCheckToolsTellsRulesAboutNoTool(t *testing.T) {
	t.Parallel()
	text := `kind: agent
key: a
config:
  model: m
  tools:
    - {source: openapi, key: pets, openapi: {document: d}}
    - {source: agent, key: b, agent: {agent: b}}
    - {source: function, key: f, names: [clock]}
  approvals:
    deletePet: always
    ask_b: always
    clock: never
    delPet: always
`
	names := []string{"getPet", "deletePet"}
	check := func(agent.ToolRef) ([]string, error) { return names, nil }
	err := parse(t, text).CheckTools(check)
	if want := "belay.yaml: document 1, line 13, column 13: config.approvals.delPet: the agent has no tool of that name"; err == nil || err.Error() != want {
		t.Errorf("err = %v", err)
	}
	names = nil // they can't be known here
	if err := parse(t, text).CheckTools(check); err != nil {
		t.Error(err)
	}
}

func TestApplyReturnsErrorsOfTheStore(t *testing.T) {
	t.Parallel()
	s := newFakeStore()
	s.applyErr = errors.New("disk full")
	if changes, err := manifest.Apply(t.Context(), s, "p", parse(t, small), false); !errors.Is(err, s.applyErr) || changes != nil {
		t.Errorf("%v, %v", changes, err)
	}
	s.applyErr = nil
	apply(t, s, small)
	s.modelErr = agent.ErrUnavailable
	if _, err := manifest.Apply(t.Context(), s, "p", parse(t, small), false); !errors.Is(err, agent.ErrUnavailable) {
		t.Errorf("err = %v", err)
	}
}

func TestApplyOfNothingDoesNothing(t *testing.T) {
	t.Parallel()
	s := newFakeStore()
	if got := apply(t, s, ""); got != nil || s.writes != 0 {
		t.Errorf("%+v, %d writes", got, s.writes)
	}
}

const shown = small + `---
kind: portal
slug: help
agent: a
origins: [https://example.com]
secret: 0123456789abcdef0123456789abcdef
`

func TestPortalIsAppliedOnceAndKeepsItsSecret(t *testing.T) {
	t.Parallel()
	s := newFakeStore()
	is := func(a manifest.Action) manifest.Change {
		return manifest.Change{Kind: "portal", Key: "help", Action: a}
	}
	for _, tc := range []struct {
		old, new string
		want     manifest.Action
	}{
		{"", "", manifest.Created},
		{"", "", manifest.Unchanged},
		{"secret: 0123456789abcdef0123456789abcdef\n", "", manifest.Unchanged},
		{"0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210", manifest.Updated},
		{"[https://example.com]", "[https://example.com, 'http://localhost:3000']", manifest.Updated},
	} {
		got := apply(t, s, strings.Replace(shown, tc.old, tc.new, 1))
		if got[2] != is(tc.want) {
			t.Errorf("%q: %+v, want %s", tc.new, got[2], tc.want)
		}
		if s.portals["help"].Secret == "" {
			t.Fatal("the secret is gone")
		}
	}
	other := s.portals["help"]
	other.Project = "q"
	s.portals["help"] = other
	_, err := manifest.Apply(t.Context(), s, "p", parse(t, shown), false)
	if err == nil || !strings.Contains(err.Error(), "document 3, line 12, column 7: slug: slug is taken by another project") {
		t.Error(err)
	}
	_, err = manifest.Apply(t.Context(), newFakeStore(), "p", parse(t, "kind: portal\nslug: help\nagent: b\n"), false)
	if err == nil || !strings.Contains(err.Error(), "line 3, column 8: agent: portal help shows the agent b, which is neither declared here nor stored") {
		t.Error(err)
	}
}
