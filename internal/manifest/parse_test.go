package manifest_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/manifest"
)

func parse(t *testing.T, text string) manifest.Manifest {
	t.Helper()
	m, err := manifest.Parse("belay.yaml", strings.NewReader(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// faults returns the lines of what is wrong with a text.
func faults(t *testing.T, text string) []string {
	t.Helper()
	m, err := manifest.Parse("belay.yaml", strings.NewReader(text), nil)
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[manifest.Errors](err); !ok {
		t.Fatalf("%T is not Errors: %v", err, err)
	}
	if len(m.Models)+len(m.Tools)+len(m.Agents) != 0 {
		t.Error("a manifest came with the errors")
	}
	return strings.Split(err.Error(), "\n")
}

const whole = `# all there is
kind: model
key: gpt
base_url: https://api.example.com/v1
model: gpt-5
api_key_env: OPENAI_API_KEY
pricing: {input: 1.25, cached_input: 0.125, output: 10}
headers: {X-Team: blue, "404": found}
timeout_ms: 60000
idle_timeout_ms: 5000
retries: 0
---
kind: model
key: own
base_url: http://127.0.0.1:1
model: own
api_key: sk-1
---
kind: tool
key: pets
source: openapi
openapi: {document: a, base_url: http://x, auth: {type: basic, username: u, header: X-Key, secret: pets}}
secret: s-1
---
kind: tool
key: tickets
source: mcp
mcp: {url: "https://mcp.example.com/", auth: {type: header, header: X-Key, username: u, secret: tickets}}
secret: s-2
---
kind: tool
key: local
source: mcp
mcp: {command: [serve], env: {LEVEL: debug}}
---
kind: tool
key: web
source: web_search
web_search: {provider: searxng, base_url: "https://search.example.com/", auth: {type: header, header: X-Key, username: u, secret: tickets}}
---
kind: agent
key: support
name: Support
status: disabled
config:
  model: gpt
  fallback_models: [own, gpt]
  instructions: |
    Be brief.
    Be kind.
  temperature: 1
  top_p: 0.5
  max_output_tokens: 100
  tools:
    - source: openapi
      key: go
      names: [clock, add]
      approval: always
      timeout_ms: 1000
      openapi:
        document: |
          openapi: 3.1.0
        base_url: https://api.example.com
        auth: {type: header, header: X-Key, username: u, secret: pets}
    - {source: openapi, key: pets, openapi: {document_url: https://api.example.com/openapi.json}}
    - source: mcp
      key: remote
      mcp:
        url: https://mcp.example.com/
        auth: {type: basic, username: me, secret: remote-key}
    - source: mcp
      key: other
      mcp: {url: "https://mcp.example.com/", auth: {type: header, header: X-Key, secret: remote-key}}
    - source: mcp
      key: local
      mcp: {command: [serve, --all], env: {LEVEL: debug}}
    - source: sandbox
      key: shell
      sandbox: {network: true, memory_mb: 100, processes: 10, disk_mb: 20}
    - source: agent
      key: expert
      agent: {agent: support, description: Knows it all.}
    - source: web_search
      key: brave
      web_search: {provider: brave, auth: {type: header, header: X-Subscription-Token, secret: brave-key}}
    - source: web_search
      key: own
      web_search:
        provider: searxng
        base_url: https://search.example.com/
        auth: {type: basic, username: me, secret: search-key}
  approvals: {exec: always, clock: never}
  limits:
    max_tool_calls: 3
    max_parallel_tools: 2
    max_wall_clock_ms: 60000
    max_total_output_tokens: 1000
    max_cost_usd: 0.5
  execution:
    sync_timeout_seconds: 10
    background_enabled: false
    background_max_duration_minutes: 5
    default_mode: background
    action_expiry_seconds: 3600
    callback_url: https://example.com/hook
    callback_secret: s3cret
`

func TestParseReadsEveryField(t *testing.T) {
	t.Parallel()
	m := parse(t, whole)
	models := []agent.Model{{
		Key: "gpt", BaseURL: "https://api.example.com/v1", Model: "gpt-5", APIKeyEnv: "OPENAI_API_KEY",
		Pricing: agent.Pricing{Input: 1.25, CachedInput: 0.125, Output: 10},
		Headers: map[string]string{"X-Team": "blue", "404": "found"}, TimeoutMS: 60000, IdleTimeoutMS: 5000, Retries: new(0),
	}, {Key: "own", BaseURL: "http://127.0.0.1:1", Model: "own", APIKey: "sk-1"}}
	if !reflect.DeepEqual(m.Models, models) {
		t.Errorf("models = %+v", m.Models)
	}
	key := &agent.ToolAuth{Type: "header", Header: "X-Key", Username: "u", Secret: "tickets"}
	tools := []agent.SharedTool{{
		Key: "pets", Source: "openapi", Secret: "s-1",
		OpenAPI: &agent.OpenAPISource{
			Document: "a", BaseURL: "http://x",
			Auth: &agent.ToolAuth{Type: "basic", Username: "u", Header: "X-Key", Secret: "pets"},
		},
	}, {
		Key: "tickets", Source: "mcp", Secret: "s-2", MCP: &agent.MCPSource{URL: "https://mcp.example.com/", Auth: key},
	}, {
		Key: "local", Source: "mcp", MCP: &agent.MCPSource{Command: []string{"serve"}, Env: map[string]string{"LEVEL": "debug"}},
	}, {
		Key: "web", Source: "web_search", WebSearch: &agent.WebSearchSource{Provider: "searxng", BaseURL: "https://search.example.com/", Auth: key},
	}}
	if !reflect.DeepEqual(m.Tools, tools) {
		t.Errorf("tools = %+v", m.Tools)
	}
	agents := []agent.Agent{{
		Key: "support", Name: "Support", Active: false,
		Draft: agent.Config{
			Model: "gpt", FallbackModels: []string{"own", "gpt"}, Instructions: "Be brief.\nBe kind.\n",
			Temperature: new(1.0), TopP: new(0.5), MaxOutputTokens: 100,
			Tools: []agent.ToolRef{{
				Source: "openapi", Key: "go", Names: []string{"clock", "add"}, Approval: "always", TimeoutMS: 1000,
				OpenAPI: &agent.OpenAPISource{
					Document: "openapi: 3.1.0\n", BaseURL: "https://api.example.com",
					Auth: &agent.ToolAuth{Type: "header", Header: "X-Key", Username: "u", Secret: "pets"},
				},
			}, {
				Source: "openapi", Key: "pets", OpenAPI: &agent.OpenAPISource{DocumentURL: "https://api.example.com/openapi.json"},
			}, {
				Source: "mcp", Key: "remote", MCP: &agent.MCPSource{URL: "https://mcp.example.com/", Auth: &agent.ToolAuth{Type: "basic", Username: "me", Secret: "remote-key"}},
			}, {
				Source: "mcp", Key: "other", MCP: &agent.MCPSource{URL: "https://mcp.example.com/", Auth: &agent.ToolAuth{Type: "header", Header: "X-Key", Secret: "remote-key"}},
			}, {
				Source: "mcp", Key: "local", MCP: &agent.MCPSource{Command: []string{"serve", "--all"}, Env: map[string]string{"LEVEL": "debug"}},
			}, {
				Source: "sandbox", Key: "shell", Sandbox: &agent.SandboxSource{Network: true, MemoryMB: 100, Processes: 10, DiskMB: 20},
			}, {
				Source: "agent", Key: "expert", Agent: &agent.AgentSource{Agent: "support", Description: "Knows it all."},
			}, {
				Source: "web_search", Key: "brave", WebSearch: &agent.WebSearchSource{Provider: "brave", Auth: &agent.ToolAuth{Type: "header", Header: "X-Subscription-Token", Secret: "brave-key"}},
			}, {
				Source: "web_search", Key: "own", WebSearch: &agent.WebSearchSource{
					Provider: "searxng", BaseURL: "https://search.example.com/", Auth: &agent.ToolAuth{Type: "basic", Username: "me", Secret: "search-key"},
				},
			}},
			Approvals: map[string]string{"exec": "always", "clock": "never"},
			Limits:    agent.Limits{MaxToolCalls: 3, MaxParallelTools: 2, MaxWallClockMS: 60000, MaxTotalOutputTokens: 1000, MaxCostUSD: 0.5},
			Execution: agent.Execution{
				SyncTimeoutSeconds: 10, BackgroundEnabled: new(false), BackgroundMaxDurationMinutes: 5,
				DefaultMode: "background", ActionExpirySeconds: 3600, CallbackURL: "https://example.com/hook", CallbackSecret: "s3cret",
			},
		},
	}}
	if !reflect.DeepEqual(m.Agents, agents) {
		t.Errorf("agents = %+v", m.Agents)
	}
}

// What the whole example holds must be all that documents can hold, so that a
// field added to the vocabulary is missed here.
func TestTheWholeExampleIsWhole(t *testing.T) {
	t.Parallel()
	m := parse(t, whole)
	var tools []reflect.Value
	for _, v := range m.Tools {
		tools = append(tools, reflect.ValueOf(v))
	}
	nonZero(t, "SharedTool", tools...)
	for _, v := range []any{m.Models[0], m.Agents[0].Draft} {
		nonZero(t, reflect.TypeOf(v).Name(), reflect.ValueOf(v))
	}
}

// nonZero wants every field to have a value in one of the values at least.
func nonZero(t *testing.T, path string, values ...reflect.Value) {
	t.Helper()
	var given, within []reflect.Value
	for _, v := range values {
		if v.IsZero() {
			continue
		}
		given = append(given, v)
		switch v.Kind() {
		case reflect.Slice:
			for i := range v.Len() {
				within = append(within, v.Index(i))
			}
		case reflect.Pointer:
			within = append(within, v.Elem())
		case reflect.Struct:
			within = append(within, v)
		}
	}
	if len(given) == 0 && !strings.HasSuffix(path, ".APIKey") &&
		!strings.HasSuffix(path, "SharedTool.OpenAPI.DocumentURL") && !strings.HasSuffix(path, ".DocumentFile") /* given in place of another */ {
		t.Errorf("%s is not in the example", path)
	}
	if len(within) == 0 || within[0].Kind() != reflect.Struct {
		return
	}
	for i := range within[0].NumField() {
		if within[0].Type().Field(i).Tag.Get("yaml") == "-" {
			continue // no document can hold it
		}
		var fields []reflect.Value
		for _, v := range within {
			fields = append(fields, v.Field(i))
		}
		nonZero(t, path+"."+within[0].Type().Field(i).Name, fields...)
	}
}

func TestParseAcceptsWhatYAMLOffers(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"nothing":         "",
		"comments only":   "# nothing\n",
		"empty documents": "---\n---\n# nothing\n---\n" + model("a") + "---\n",
		"JSON":            `{"kind": "agent", "key": "a", "config": {"model": "m", "temperature": 1e-1}}`,
		"CRLF":            strings.ReplaceAll(model("a"), "\n", "\r\n"),
		"byte order mark": "\uFEFF" + model("a"),
		"aliases":         "kind: agent\nkey: &k a\nname: *k\nconfig: &c {model: m, tools: [&t {source: function, key: x}, *t]}\n",
		"merged":          "kind: agent\nkey: a\nconfig: {model: m, limits: {<<: {max_tool_calls: 2}, max_parallel_tools: 1}}\n",
		"end mark":        model("a") + "...\n" + model("b"),
		"quoted text":     "kind: 'model'\nkey: \"a\"\nbase_url: >-\n  http://x\nmodel: '12'\n",
		"tagged text":     "kind: model\nkey: a\nbase_url: http://x\nmodel: !!str 12\n",
	} {
		if got := faults(t, text); got != nil {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func model(key string) string {
	return "kind: model\nkey: " + key + "\nbase_url: http://x\nmodel: m\n"
}

func TestMergedFieldsYieldToOwnOnes(t *testing.T) {
	t.Parallel()
	m := parse(t, `
kind: agent
key: a
config:
  model: m
  tools:
    - &base {source: function, key: base, timeout_ms: 1, approval: always}
    - &more {<<: *base, timeout_ms: 2}
    - {<<: [{key: first}, *more], approval: never}
`)
	want := []agent.ToolRef{
		{Source: "function", Key: "base", TimeoutMS: 1, Approval: "always"},
		{Source: "function", Key: "base", TimeoutMS: 2, Approval: "always"},
		{Source: "function", Key: "first", TimeoutMS: 2, Approval: "never"},
	}
	if got := m.Agents[0].Draft.Tools; !reflect.DeepEqual(got, want) {
		t.Errorf("tools = %+v", got)
	}
}

func TestOnlyGivenVariablesAreReplacedAndOnlyInText(t *testing.T) {
	t.Parallel()
	text := "kind: model\nkey: a\nbase_url: ${URL}/v1\nmodel: ${OTHER}-$URL-${URL\nheaders:\n  ${URL}: ${URL}${URL}\n"
	m, err := manifest.Parse("f", strings.NewReader(text), map[string]string{"URL": "http://x"})
	if err != nil {
		t.Fatal(err)
	}
	got := m.Models[0]
	if got.BaseURL != "http://x/v1" || got.Model != "${OTHER}-$URL-${URL" || got.Headers["${URL}"] != "http://xhttp://x" {
		t.Errorf("got %+v", got)
	}
	if _, err := manifest.Parse("f", strings.NewReader(text), nil); err == nil {
		t.Error("a variable that was not given made a good URL")
	}
}

func TestAllFaultsOfAFileAreToldWithTheirPlaces(t *testing.T) {
	t.Parallel()
	text := model("a") + `timeout_ms: "12"
pricing: {input: -1, output: -2}
---
kind: agent
key: Support
status: off
confg: {}
config:
  modle: a
  temperature: 3
  tools:
  - {source: shell, key: ""}
  - {source: function, key: go, names: [ok, "not ok"]}
  limits:
    max_tool_calls: -1
    maxCostUSD: 2
---
` + model("a") + `retries: 11
---
kind: [
`
	want := `belay.yaml: document 1, line 5, column 13: timeout_ms: must be a whole number, not text: remove the quotes
belay.yaml: document 1, line 6, column 18: pricing.input: must not be negative
belay.yaml: document 1, line 6, column 30: pricing.output: must not be negative
belay.yaml: document 2, line 9, column 6: key: must be 1 to 63 of a-z, 0-9, - and _, starting with a letter or digit
belay.yaml: document 2, line 10, column 9: status: must be active or disabled
belay.yaml: document 2, line 11, column 1: confg: unknown field, did you mean config?
belay.yaml: document 2, line 13, column 3: config.modle: unknown field, did you mean model?
belay.yaml: document 2, line 13, column 3: config.model: is required
belay.yaml: document 2, line 14, column 16: config.temperature: must be between 0 and 2
belay.yaml: document 2, line 16, column 14: config.tools[0].source: must be function, openapi, mcp, sandbox, agent, memory, question, web_search
belay.yaml: document 2, line 16, column 26: config.tools[0].key: is required
belay.yaml: document 2, line 17, column 45: config.tools[1].names[1]: must be 1 to 64 of a-z, A-Z, 0-9, - and _
belay.yaml: document 2, line 19, column 21: config.limits.max_tool_calls: must be 0 or more
belay.yaml: document 2, line 20, column 5: config.limits.maxCostUSD: unknown field, did you mean max_cost_usd?
belay.yaml: document 3, line 23, column 6: key: document 1 declares this model already
belay.yaml: document 3, line 26, column 10: retries: must be 0 to 10
belay.yaml: document 4, line 29, column 1: not YAML: did not find expected node content`
	if got := strings.Join(faults(t, text), "\n"); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestErrorsCanBeReadOneByOne(t *testing.T) {
	t.Parallel()
	_, err := manifest.Parse("f", strings.NewReader("kind: model\nkey: A\n"), nil)
	e, ok := errors.AsType[*manifest.Error](err)
	if !ok || e.File != "f" || e.Document != 1 || e.Line != 1 || e.Column != 1 || e.Field != "base_url" {
		t.Errorf("first = %+v", e)
	}
}

func TestFaultsOfStructure(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ text, want string }{
		"a list":               {"- kind: model\n", "document 1, line 1, column 1: must be a mapping with kind and key, not a list"},
		"a word":               {"model\n", "must be a mapping with kind and key, not text"},
		"no kind":              {"key: a\n", "document 1, line 1, column 1: kind: is required: model, tool, agent or portal"},
		"kind of a near miss":  {"key: a\nkind: agnet\n", "line 2, column 7: kind: must be model, tool, agent or portal, did you mean agent?"},
		"kind in capitals":     {"kind: Model\n", "kind: must be model, tool, agent or portal, did you mean model?"},
		"another kind":         {"kind: team\n", "kind: must be model, tool, agent or portal"},
		"kind is no text":      {"kind: 1\n", "kind: must be text, not a number: put it in quotes"},
		"kind is empty":        {"kind:\n", "kind: has no value: give one or leave the field out"},
		"twice":                {"kind: model\n" + model("a"), "line 2, column 1: kind: is given twice, first in line 1"},
		"unknown field":        {model("a") + "colour: red\n", "line 5, column 1: colour: unknown field; there are api_key, api_key_env, base_url, headers, idle_timeout_ms, key, model, pricing, retries, timeout_ms"},
		"field of config":      {"kind: agent\nkey: a\nconfig: {model: m}\ninstructions: hi\n", "instructions: unknown field, did you mean config.instructions?"},
		"field of limits":      {"kind: agent\nkey: a\nconfig: {model: m, max_tool_calls: 1}\n", "config.max_tool_calls: unknown field, did you mean limits.max_tool_calls?"},
		"with hyphens":         {model("a") + "base-url: x\n", "base-url: unknown field, did you mean base_url?"},
		"project":              {model("a") + "project: x\n", "project: unknown field"},
		"odd field name":       {model("a") + "\"a\\nb\": x\n", `"a\nb": unknown field`},
		"long field name":      {model("a") + strings.Repeat("x", 200) + ": x\n", strings.Repeat("x", 64) + "…: unknown field"},
		"number as field name": {model("a") + "12: x\n", "line 5, column 1: the name of a field must be text, not a number: put it in quotes"},
		"list as field name":   {model("a") + "? [a]\n: x\n", "the name of a field must be text, not a list"},
		"unknown tag":          {model("a") + "retries: !foo 1\n", "retries: must be a whole number, not a value of type !foo"},
		"date":                 {"kind: agent\nkey: a\nname: !!timestamp 2026-01-01\nconfig: {model: m}\n", "name: must be text, not a date: put it in quotes"},
		"merge of text":        {model("a") + "<<: x\n", "<< takes a mapping or a list of mappings, not text"},
		"merge of itself":      {"kind: agent\nkey: a\nconfig: &c\n  model: m\n  <<: *c\n", "config: merges mappings too deep"},
		"alias of itself":      {"kind: agent\nkey: a\nconfig: &c\n  model: *c\n", "config.model: must be text, not a mapping"},
		"unknown alias":        {model("a") + "retries: *x\n", "document 1, line 5, column 10: not YAML: unknown anchor 'x' referenced"},
		"version directive":    {"%YAML 1.2\n---\n" + model("a"), "line 1, column 1: not YAML: leave the directive %YAML out"},
		"1001 entries":         {"kind: agent\nkey: a\nconfig: {model: m, fallback_models: [" + strings.Repeat("m,", 1001) + "]}\n", "config.fallback_models: has 1001 entries, more than 1000"},
		"tab":                  {"kind: model\nkey:\n\t- x\n", "line 3, column 1: not YAML"},
		"open quote":           {"kind: \"model\nkey: a\n", "not YAML"},
		"U+0000":               {"kind: agent\nkey: a\nname: \"a\\0b\"\nconfig: {model: m}\n", "line 3, column 7: name: must not contain the character U+0000"},
		"control character":    {"kind: model\nkey: a\x01\n", "belay.yaml: line 2, column 7: control character U+0001"},
		"not UTF-8":            {"kind: model\nkey: é\xff\n", "belay.yaml: line 2, column 7: is not UTF-8 here"},
		"UTF-16":               {"\xff\xfek\x00", "belay.yaml: line 1, column 1: is not UTF-8 here"},
	} {
		if got := strings.Join(faults(t, tc.text), "\n"); !strings.Contains(got, tc.want) {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}

func TestHugeInputIsRefused(t *testing.T) {
	t.Parallel()
	r := io.MultiReader(strings.NewReader(model("a")), iotest.OneByteReader(strings.NewReader("#")), strings.NewReader(strings.Repeat("#", 11<<20)))
	_, err := manifest.Parse("f", r, nil)
	if err == nil || err.Error() != "f: is larger than 10 MB" {
		t.Errorf("err = %v", err)
	}
}

func TestAliasBombsAreRefused(t *testing.T) {
	t.Parallel()
	var lists, merges strings.Builder
	lists.WriteString("kind: agent\nkey: a\nconfig:\n  model: m\n  tools:\n  - &t {source: function, key: a, names: [" + strings.Repeat("x,", 999) + "]}\n")
	lists.WriteString(strings.Repeat("  - *t\n", 999))
	merges.WriteString("kind: model\nkey: a\nheaders:\n  a0: &m0 {x: y}\n")
	for i := 1; i < 9; i++ {
		fmt.Fprintf(&merges, "  a%d: &m%d {<<: [%s]}\n", i, i, strings.Repeat(fmt.Sprintf("*m%d,", i-1), 100))
	}
	fmt.Fprintf(&merges, "  <<: *m8\n")
	merged := strings.ReplaceAll(lists.String(), "  - *t\n", "  - {<<: *t}\n")
	for name, text := range map[string]string{
		"lists": lists.String(), "merged lists": merged, "merges": merges.String(), "deep": strings.Repeat("[", 1<<20),
	} {
		got := strings.Join(faults(t, text), "\n")
		if !strings.Contains(got, "aliases stand for more than 10 MB") && !strings.Contains(got, "depth") {
			t.Errorf("%s: %.300s", name, got)
		}
	}
}

func TestFaultsOfAFileAreTold100AtMost(t *testing.T) {
	t.Parallel()
	if n := len(faults(t, strings.Repeat("kind: nothing\n---\n", 1000))); n != 100 {
		t.Errorf("%d faults", n)
	}
}

func TestReadErrorIsReturned(t *testing.T) {
	t.Parallel()
	_, err := manifest.Parse("f", iotest.ErrReader(os.ErrPermission), nil)
	if !errors.Is(err, os.ErrPermission) {
		t.Errorf("err = %v", err)
	}
}

func TestNoErrorHoldsAValue(t *testing.T) {
	t.Parallel()
	const canary = "sk-canary-0123456789"
	for _, text := range []string{
		model("a") + "api_key: " + canary + "\napi_key_env: X\n",
		model("a") + "api_key: [" + canary + "]\n",
		model("a") + "api_key: {a: " + canary + "}\n",
		model("a") + "api_key: \"" + canary + "\\0\"\n",
		model("a") + "retries: " + canary + "\n",
		model("a") + "api_key_env: " + canary + "\n",
		model("a") + "api_key: \"" + canary + "\n",
		model("a") + "api_key: " + canary + ": x\n",
		"kind: tool\nkey: a\nsource: " + canary + "\nopenapi: {document_url: " + canary + "}\nsecret: [" + canary + "]\n",
		"kind: " + canary + "\n",
		"kind: agent\nkey: " + canary + "!\nstatus: " + canary + "\nconfig: {model: m, execution: {callback_secret: [" + canary + "], callback_url: " + canary + "}}\n",
	} {
		got := strings.Join(faults(t, text), "\n")
		if got == "" || strings.Contains(got, "canary") {
			t.Errorf("got %q", got)
		}
	}
}

func TestTheDemoIsValid(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../cmd/belay/demo.yaml")
	if err != nil {
		t.Fatal(err)
	}
	m, err := manifest.Parse("demo.yaml", strings.NewReader(string(b)), map[string]string{"DEMO_MODEL_URL": "http://127.0.0.1:8090/v1", "DEMO_SITE": "http://127.0.0.1:8091"})
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, a := range m.Agents {
		keys = append(keys, a.Key)
	}
	if len(m.Models) != 1 || m.Models[0].BaseURL != "http://127.0.0.1:8090/v1" || !reflect.DeepEqual(keys, []string{"demo", "slow", "deaf", "approve", "shell", "boss", "ask", "memory"}) {
		t.Errorf("models %+v, agents %v", m.Models, keys)
	}
	s := newFakeStore()
	if _, err := manifest.Apply(t.Context(), s, "p", m, false); err != nil {
		t.Error(err)
	}
}
