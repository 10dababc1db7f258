package manifest_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/manifest"
)

const (
	tooBig    = "99999999999999999999"
	keyRule   = "must be 1 to 63 of a-z, 0-9, - and _, starting with a letter or digit"
	notText   = "must be text, not a number: put it in quotes"
	notNumber = "must be a whole number, not text: remove the quotes"
	fraction  = "must be a whole number, not a number with a fraction"
	noValue   = "has no value: give one or leave the field out"
)

// sourceRule is what a source must be.
var sourceRule = "must be " + strings.Join(agent.Sources, ", ")

// badFields holds bad values of every field of a document and what is said. What
// a shared tool's source needs is what an agent's own needs.
var badFields = func() map[string]map[string]map[string]string {
	all := ownBadFields
	for path, values := range all["agent"] {
		field := strings.TrimPrefix(path, "config.tools[0].")
		if name, _, _ := strings.Cut(field, "."); name == "mcp" || name == "web_search" {
			all["tool"][field] = values
		}
	}
	return all
}()

var ownBadFields = map[string]map[string]map[string]string{
	"model": {
		"key":                  {"": noValue, "12": notText, "[a]": "must be text, not a list", "Upper": keyRule, "a b": keyRule, "-a": keyRule, strings.Repeat("a", 64): keyRule, `""`: "is required"},
		"base_url":             {"": noValue, "12": notText, "x": "must be an http or https URL", "ftp://x": "must be an http or https URL", `"http://"`: "must be an http or https URL", `"http://%zz"`: "must be an http or https URL"},
		"model":                {"": noValue, "5": notText, "true": "must be text, not true or false: put it in quotes", `""`: "is required: the provider's name of the model"},
		"api_key":              {"": noValue, "12": notText, "{}": "must be text, not a mapping"},
		"api_key_env":          {"": noValue, "12": notText, "A B": "must be the name of an environment variable", "$A": "must be the name of an environment variable"},
		"pricing":              {"": noValue, "1": "must be a mapping, not a number", "[]": "must be a mapping, not a list", "{in: 1}": "unknown field"},
		"pricing.input":        {"": noValue, `"1"`: "must be a number, not text: remove the quotes", "-1": "must not be negative", ".inf": "must be a finite number", ".nan": "must be a finite number"},
		"pricing.cached_input": {"": noValue, "a": "must be a number, not text", "-0.1": "must not be negative", ".inf": "must be a finite number"},
		"pricing.output":       {"": noValue, "true": "must be a number, not true or false", "-1": "must not be negative", "[1]": "must be a number, not a list"},
		"headers":              {"": noValue, "a": "must be a mapping, not text", "{a: 1}": notText, "{a: }": noValue, "{1: a}": "the name of a field must be text, not a number", "{a: b, a: c}": "is given twice", `{"": b}`: "the name of a field must be text"},
		"timeout_ms":           {"": noValue, `"1"`: notNumber, "1.5": fraction, "-1": "must be 0 or more", tooBig: "must be a whole number"},
		"idle_timeout_ms":      {"": noValue, `"1"`: notNumber, "1.5": fraction, "-1": "must be 0 or more", "1s": "must be a whole number, not text"},
		"retries":              {"": noValue, `"1"`: notNumber, "1.5": fraction, "-1": "must be 0 to 10", "11": "must be 0 to 10"},
	},
	"portal": {
		"slug":                       {"": noValue, "1": notText, "A": keyRule, `""`: "is required"},
		"agent":                      {"": noValue, "1": notText, "A": keyRule, `""`: "is required"},
		"title":                      {"": noValue, "1": notText, strings.Repeat("a", 201): "must have 200 bytes at most"},
		"welcome":                    {"": noValue, "1": notText, strings.Repeat("a", 2001): "must have 2000 bytes at most"},
		"origins":                    {"": noValue, "a": "must be a list, not text", "[1]": notText, "['https://example.com/']": "must be an origin such as", "['*']": "must be an origin such as", "['https://Example.com']": "must be an origin such as", "['https://a;script-src']": "must be an origin such as"},
		"paused":                     {"": noValue, "1": "must be true or false, not a number", `"true"`: "must be true or false, not text: remove the quotes"},
		"anonymous":                  {"": noValue, "1": "must be true or false, not a number", `"true"`: "must be true or false, not text: remove the quotes"},
		"approvals":                  {"": noValue, "1": "must be true or false, not a number", `"true"`: "must be true or false, not text: remove the quotes"},
		"a2a":                        {"": noValue, "1": "must be true or false, not a number", `"true"`: "must be true or false, not text: remove the quotes"},
		"secret":                     {"": noValue, "1": notText, "short": "must have 32 bytes or more"},
		"limits":                     {"": noValue, "1": "must be a mapping, not a number", "{per_minute: 1}": "unknown field"},
		"limits.message_chars":       {"": noValue, `"1"`: notNumber, "1.5": fraction, "-1": "must be 0 (default 8000) to 1000000"},
		"limits.visitor_per_minute":  {"": noValue, `"1"`: notNumber, "1.5": fraction, "-1": "must be 0 or more"},
		"limits.portal_per_minute":   {"": noValue, `"1"`: notNumber, "1.5": fraction, "-1": "must be 0 or more"},
		"limits.visitor_usd_per_day": {"": noValue, `"1"`: "must be a number, not text: remove the quotes", "-1": "must be 0 (no limit) or more", ".inf": "must be a finite number"},
		"limits.portal_usd_per_day":  {"": noValue, `"1"`: "must be a number, not text: remove the quotes", "-1": "must be 0 (no limit) or more", ".inf": "must be a finite number"},
	},
	"tool": {
		"key":                   {"": noValue, "1": notText, "A": keyRule, `""`: "is required"},
		"source":                {"": noValue, "1": notText, "function": "must be openapi, mcp, web_search", "opanapi": "must be openapi"},
		"secret":                {"": noValue, "1": notText, "[]": "must be text, not a list"},
		"openapi":               {"": noValue, "x": "must be a mapping, not text", "{}": "is required, or document_url", "{doc: x}": "unknown field"},
		"openapi.document":      {"": noValue, "1": notText, "{}": "must be text, not a mapping", `""`: "is required, or document_url"},
		"openapi.document_file": {"": noValue, "1": notText, "[a]": "must be text, not a list", "a.yaml": "give one of document, document_file and document_url"},
		"openapi.document_url":  {"": noValue, "1": notText, "ftp://x": "must be an http or https URL", "x": "must be an http or https URL"},
		"openapi.base_url":      {"": noValue, "1": notText, "x": "must be an http or https URL"},
		"openapi.auth":          {"": noValue, "a": "must be a mapping, not text", "[]": "must be a mapping, not a list"},
		"openapi.auth.type":     {"": noValue, "1": notText, "digest": "must be bearer, basic or header", "none": "must be bearer, basic or header"},
		"openapi.auth.header":   {"": noValue, "1": notText, "[]": "must be text, not a list"},
		"openapi.auth.username": {"": noValue, "1": notText, "[]": "must be text, not a list"},
		"openapi.auth.secret":   {"": noValue, "1": notText, "A": keyRule, `""`: "is required"},
	},
	"agent": {
		"config.tools[0].openapi":                          {"": noValue, "x": "must be a mapping, not text", "{}": "is required, or document_url", "{doc: x}": "unknown field"},
		"config.tools[0].openapi.document":                 {"": noValue, "1": notText, "{}": "must be text, not a mapping", `""`: "is required, or document_url"},
		"config.tools[0].openapi.document_file":            {"": noValue, "1": notText, "[a]": "must be text, not a list", "a.yaml": "give one of document, document_file and document_url"},
		"config.tools[0].openapi.document_url":             {"": noValue, "1": notText, "ftp://x": "must be an http or https URL", "x": "must be an http or https URL"},
		"config.tools[0].openapi.base_url":                 {"": noValue, "1": notText, "x": "must be an http or https URL"},
		"config.tools[0].openapi.auth":                     {"": noValue, "a": "must be a mapping, not text", "[]": "must be a mapping, not a list"},
		"config.tools[0].openapi.auth.type":                {"": noValue, "1": notText, "digest": "must be bearer, basic or header", "none": "must be bearer, basic or header"},
		"config.tools[0].openapi.auth.header":              {"": noValue, "1": notText, "[]": "must be text, not a list"},
		"config.tools[0].openapi.auth.username":            {"": noValue, "1": notText, "[]": "must be text, not a list"},
		"config.tools[0].openapi.auth.secret":              {"": noValue, "1": notText, "A": keyRule, `""`: "is required"},
		"key":                                              {"": noValue, "1": notText, "A": keyRule, `""`: "is required"},
		"name":                                             {"": noValue, "1": notText, "[]": "must be text, not a list"},
		"status":                                           {"": noValue, "true": "must be text, not true or false: put it in quotes", "off": "must be active or disabled", "Active": "must be active or disabled"},
		"config":                                           {"": noValue, "m": "must be a mapping, not text", "{}": "is required", "{model: m, modell: m}": "unknown field, did you mean model?"},
		"config.model":                                     {"": noValue, "1": notText, "A": keyRule, `""`: "is required"},
		"config.fallback_models":                           {"": noValue, "m": "must be a list, not text", "[1]": notText, "[A]": keyRule, `[""]`: "is required", "[~]": noValue},
		"config.instructions":                              {"": noValue, "1": notText, "[a]": "must be text, not a list"},
		"config.temperature":                               {"": noValue, `"1"`: "must be a number, not text: remove the quotes", "-1": "must be between 0 and 2", "2.1": "must be between 0 and 2", ".nan": "must be a finite number"},
		"config.top_p":                                     {"": noValue, "a": "must be a number, not text", "-1": "must be between 0 and 1", "1.1": "must be between 0 and 1"},
		"config.max_output_tokens":                         {"": noValue, `"1"`: notNumber, "1.5": fraction, "-1": "must be 0 or more", tooBig: "must be a whole number"},
		"config.tools":                                     {"": noValue, "{}": "must be a list, not a mapping", "[a]": "must be a mapping, not text", "[~]": noValue, "[{}]": sourceRule, "[{sauce: function}]": "unknown field, did you mean source?"},
		"config.tools[0].source":                           {"": noValue, "1": notText, "mpc": sourceRule},
		"config.tools[0].key":                              {"": noValue, "1": notText, "A": keyRule, `""`: "is required"},
		"config.tools[0].names":                            {"": noValue, "a": "must be a list, not text", "[1]": notText, `[""]`: "must be 1 to 64", `["a b"]`: "must be 1 to 64", "[" + strings.Repeat("a", 65) + "]": "must be 1 to 64"},
		"config.tools[0].approval":                         {"": noValue, "true": "must be text, not true or false", "sometimes": "must be always or never"},
		"config.tools[0].timeout_ms":                       {"": noValue, `"1"`: notNumber, "1.5": fraction, "-1": "must be 0 or more"},
		"config.tools[0].mcp":                              {"": noValue, "a": "must be a mapping, not text", "{}": "is required, or a command", "{url: 'http://x', command: [a]}": "not both", "{url: 'http://x', urll: a}": "unknown field, did you mean url?"},
		"config.tools[0].mcp.url":                          {"": noValue, "1": notText, "x": "must be an http or https URL", "ftp://x": "must be an http or https URL"},
		"config.tools[0].mcp.command":                      {"": noValue, "a": "must be a list, not text", "[1]": notText, `[""]`: "must be a program's name"},
		"config.tools[0].mcp.env":                          {"": noValue, "a": "must be a mapping, not text", "{a: 1}": notText, "{a b: c}": "the names must be those of environment variables"},
		"config.tools[0].mcp.auth":                         {"": noValue, "a": "must be a mapping, not text", "[]": "must be a mapping, not a list", "{type: bearer, secret: a, heater: b}": "unknown field, did you mean header?"},
		"config.tools[0].mcp.auth.type":                    {"": noValue, "1": notText, "none": "must be bearer, basic or header"},
		"config.tools[0].mcp.auth.header":                  {"": noValue, "1": notText, "[]": "must be text, not a list"},
		"config.tools[0].mcp.auth.username":                {"": noValue, "1": notText, "[]": "must be text, not a list"},
		"config.tools[0].mcp.auth.secret":                  {"": noValue, "1": notText, "A": keyRule, `""`: "is required"},
		"config.tools[0].sandbox":                          {"": noValue, "1": "must be a mapping, not a number", "[]": "must be a mapping, not a list", "{net: true}": "unknown field"},
		"config.tools[0].sandbox.network":                  {"": noValue, "1": "must be true or false, not a number", `"true"`: "must be true or false, not text: remove the quotes"},
		"config.tools[0].sandbox.memory_mb":                {"": noValue, `"1"`: notNumber, "1.5": fraction, "-1": "must be 0 (default 512) to 1048576"},
		"config.tools[0].sandbox.processes":                {"": noValue, `"1"`: notNumber, "1.5": fraction, "-1": "must be 0 (default 128) to 65536", "65537": "to 65536"},
		"config.tools[0].sandbox.disk_mb":                  {"": noValue, `"1"`: notNumber, "1.5": fraction, "-1": "must be 0 (default 256) to 1048576"},
		"config.tools[0].agent":                            {"": noValue, "a": "must be a mapping, not text", "[]": "must be a mapping, not a list", "{}": "is required", "{agent: a, descriptoin: b}": "unknown field, did you mean description?"},
		"config.tools[0].agent.agent":                      {"": noValue, "1": notText, "A": keyRule, `""`: "is required"},
		"config.tools[0].agent.description":                {"": noValue, "1": notText, "[a]": "must be text, not a list"},
		"config.tools[0].web_search":                       {"": noValue, "x": "must be a mapping, not text", "{}": "must be searxng, brave, tavily", "{provider: searxng, base_url: 'http://x', page: 1}": "unknown field", "{provider: searxng}": "is required: where the SearXNG is", "{provider: brave}": "is required: the provider's key"},
		"config.tools[0].web_search.provider":              {"": noValue, "1": notText, "google": "must be searxng, brave, tavily"},
		"config.tools[0].web_search.base_url":              {"": noValue, "1": notText, "x": "must be an http or https URL", "ftp://x": "must be an http or https URL"},
		"config.tools[0].web_search.auth":                  {"": noValue, "a": "must be a mapping, not text", "[]": "must be a mapping, not a list", "{type: header, secret: a}": "is required: the header's name", "{type: basic, secret: a}": "is required"},
		"config.tools[0].web_search.auth.type":             {"": noValue, "1": notText, "none": "must be bearer, basic or header"},
		"config.tools[0].web_search.auth.header":           {"": noValue, "1": notText, "[]": "must be text, not a list"},
		"config.tools[0].web_search.auth.username":         {"": noValue, "1": notText, "[]": "must be text, not a list"},
		"config.tools[0].web_search.auth.secret":           {"": noValue, "1": notText, "A": keyRule, `""`: "is required"},
		"config.approvals":                                 {"": noValue, "always": "must be a mapping, not text", "[exec]": "must be a mapping, not a list", "{exec: sometimes}": "must be always or never", "{exec: 1}": notText},
		"config.limits":                                    {"": noValue, "1": "must be a mapping, not a number", "{max_tools: 1}": "unknown field"},
		"config.limits.max_tool_calls":                     {"": noValue, `"1"`: notNumber, "1.5": fraction, "-1": "must be 0 or more"},
		"config.limits.max_parallel_tools":                 {"": noValue, `"1"`: notNumber, "1.5": fraction, "-1": "must be 0 or more", "65": "must be 64 or less"},
		"config.limits.max_wall_clock_ms":                  {"": noValue, `"1"`: notNumber, "1.5": fraction, "-1": "must be 0 or more", tooBig: "must be a whole number"},
		"config.limits.max_total_output_tokens":            {"": noValue, `"1"`: notNumber, "1.5": fraction, "-1": "must be 0 or more"},
		"config.limits.max_cost_usd":                       {"": noValue, `"1"`: "must be a number, not text: remove the quotes", "-1": "must not be negative", ".inf": "must be a finite number"},
		"config.execution":                                 {"": noValue, "sync": "must be a mapping, not text", "{mode: sync}": "unknown field"},
		"config.execution.sync_timeout_seconds":            {"": noValue, `"1"`: notNumber, "1.5": fraction, "-1": "must be 0 (default 300) to 3600", "3601": "must be 0 (default 300) to 3600"},
		"config.execution.background_enabled":              {"": noValue, "1": "must be true or false, not a number", `"true"`: "must be true or false, not text: remove the quotes", "maybe": "must be true or false, not text"},
		"config.execution.background_max_duration_minutes": {"": noValue, `"1"`: notNumber, "1.5": fraction, "-1": "must be 0 or more"},
		"config.execution.default_mode":                    {"": noValue, "1": notText, "async": "must be sync or background"},
		"config.execution.action_expiry_seconds":           {"": noValue, `"1"`: notNumber, "1.5": fraction, "-1": "must be 0 (default: never) to 31536000", "31536001": "to 31536000"},
		"config.execution.callback_url":                    {"": noValue, "1": notText, "x": "must be an http or https URL"},
		"config.execution.callback_secret":                 {"": noValue, "1": notText, "[]": "must be text, not a list"},
	},
}

// documentWith returns a document that has a value at a path and is right
// otherwise, in JSON's notation, and the column of the value.
func documentWith(kind, path, value string) string {
	right := map[string]map[string]string{
		"model":  {"key": "a", "base_url": "http://x", "model": "m"},
		"portal": {"slug": "a", "agent": "b"},
		"agent":  {"key": "a", "config": "{model: m}"},
		"config": {"model": "m"}, "tools": {"source": "function", "key": "a"},
		"tool":    {"key": "a", "source": "openapi", "openapi": "{document: x}"},
		"openapi": {"document": "x"}, "auth": {"type": "bearer", "secret": "a"},
		"mcp": {"url": "http://x"}, "agent.config.tools.agent": {"agent": "b"},
		"web_search": {"provider": "searxng", "base_url": "http://x"},
	}
	if strings.HasPrefix(path, "config.tools[0].openapi") {
		right["tools"]["source"] = "openapi"
	}
	if strings.HasSuffix(path, "openapi.document_url") {
		delete(right["openapi"], "document")
	}
	if name, _, _ := strings.Cut(path, "."); kind == "tool" && (name == "mcp" || name == "web_search") {
		right["tool"] = map[string]string{"key": "a", "source": name}
	}
	if strings.HasPrefix(path, "config.tools[0].agent") {
		right["tools"]["source"] = "agent"
	}
	if strings.Contains(path, ".sandbox") {
		right["tools"]["source"] = "sandbox"
	}
	if strings.Contains(path, ".web_search") {
		right["tools"]["source"] = "web_search"
	}
	if strings.Contains(path, ".mcp") {
		right["tools"]["source"] = "mcp"
	}
	if name := path[strings.LastIndex(path, ".")+1:]; name == "command" || name == "env" {
		right["mcp"] = map[string]string{"command": "[a]"}
	}
	var write func(within, rest string) string
	write = func(within, rest string) string {
		name, deeper, nested := strings.Cut(rest, ".")
		name, index, list := strings.Cut(name, "[")
		v := value
		if nested {
			v = "{" + write(within+"."+name, deeper) + "}"
		} else if list {
			panic("no value at an index: " + path + index)
		}
		if list {
			v = "[" + v + "]"
		}
		parts := []string{}
		needs, ok := right[within] // by its whole path, or by its name alone
		if !ok {
			needs = right[within[strings.LastIndex(within, ".")+1:]]
		}
		for k, good := range needs {
			if k != name {
				parts = append(parts, k+": "+good)
			}
		}
		return strings.Join(append(parts, name+": "+v), ", ")
	}
	return "{kind: " + kind + ", " + write(kind, path) + "}\n"
}

func TestBadValuesOfEveryFieldAreToldByTheirField(t *testing.T) {
	t.Parallel()
	for kind, fields := range badFields {
		for path, values := range fields {
			for value, want := range values {
				text := documentWith(kind, path, value)
				got := faults(t, text)
				// These are told with what they leave missing.
				missing := strings.HasPrefix(value, "[{") || value == "{doc: x}" || strings.HasSuffix(path, "document_url") || strings.HasSuffix(path, "mcp.command")
				if len(got) != 1 && !missing {
					t.Errorf("%s: %d faults: %q", text, len(got), got)
				}
				found := slices.ContainsFunc(got, func(line string) bool {
					return strings.Contains(line, want) && strings.Contains(line, ": "+path) && strings.Contains(line, "document 1, line 1, column ")
				})
				if !found {
					t.Errorf("%s got %q, want %q at %s", text, got, want, path)
				}
			}
		}
	}
}

func TestEveryFieldHasBadValues(t *testing.T) {
	t.Parallel()
	tools := map[string]bool{}
	models, agents := map[string]bool{}, map[string]bool{"key": true, "name": true, "status": true, "config": true}
	paths(models, "", reflect.TypeFor[agent.Model]())
	paths(tools, "", reflect.TypeFor[agent.SharedTool]())
	paths(agents, "config.", reflect.TypeFor[agent.Config]())
	portals := map[string]bool{}
	paths(portals, "", reflect.TypeFor[agent.Portal]())
	for kind, want := range map[string]map[string]bool{"model": models, "tool": tools, "agent": agents, "portal": portals} {
		for path := range want {
			if len(badFields[kind][path]) < 3 {
				t.Errorf("%s: %s has no table of bad values", kind, path)
			}
		}
		for path := range badFields[kind] {
			if !want[path] {
				t.Errorf("%s: there is no field %s", kind, path)
			}
		}
	}
}

// paths collects the paths of all fields of a type.
func paths(into map[string]bool, prefix string, typ reflect.Type) {
	for f := range typ.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if name == "-" {
			continue
		}
		into[prefix+name] = true
		switch {
		case f.Type.Kind() == reflect.Pointer && f.Type.Elem().Kind() == reflect.Struct:
			paths(into, prefix+name+".", f.Type.Elem())
		case f.Type.Kind() == reflect.Struct:
			paths(into, prefix+name+".", f.Type)
		case f.Type.Kind() == reflect.Pointer && f.Type.Elem().Kind() == reflect.Struct:
			paths(into, prefix+name+".", f.Type.Elem())
		case f.Type.Kind() == reflect.Slice && f.Type.Elem().Kind() == reflect.Struct:
			paths(into, prefix+name+"[0].", f.Type.Elem())
		}
	}
}

func TestMissingFieldsAreTold(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"kind: model\nbase_url: http://x\nmodel: m\n":                                                                     "line 1, column 1: key: is required",
		"kind: model\nkey: a\nmodel: m\n":                                                                                 "line 1, column 1: base_url: must be an http or https URL",
		"kind: model\nkey: a\nbase_url: http://x\n":                                                                       "line 1, column 1: model: is required",
		"kind: agent\nconfig: {model: m}\n":                                                                               "line 1, column 1: key: is required",
		"kind: agent\nkey: a\n":                                                                                           "line 1, column 1: config.model: is required",
		"kind: agent\nkey: a\nconfig:\n  instructions: x\n":                                                               "line 4, column 3: config.model: is required",
		"kind: agent\nkey: a\nconfig:\n  model: m\n  tools:\n  - key: a\n":                                                "line 6, column 5: config.tools[0].source: " + sourceRule,
		"kind: tool\nkey: a\nsource: openapi\n":                                                                           "line 1, column 1: openapi: is required: the document and how to reach the API",
		"kind: tool\nkey: a\nsource: openapi\nopenapi:\n  base_url: http://x\n":                                           "line 5, column 3: openapi.document: is required, or document_url",
		"kind: tool\nkey: a\nsource: openapi\nopenapi: {document: x, auth: {type: basic, secret: a}}\n":                   "openapi.auth.username: is required",
		"kind: tool\nkey: a\nsource: openapi\nopenapi: {document: x, auth: {type: header, secret: a}}\n":                  "openapi.auth.header: is required",
		"kind: tool\nkey: a\nsource: openapi\nopenapi: {document: x, document_url: http://x}\n":                           "openapi.document_url: give document or document_url, not both",
		"kind: agent\nkey: a\nconfig:\n  model: m\n  tools: [{source: function, key: a, openapi: {document: x}}]\n":       "config.tools[0].openapi: belongs to source openapi",
		"kind: agent\nkey: a\nconfig:\n  model: m\n  tools: [{source: function}]\n":                                       "line 5, column 11: config.tools[0].key: is required",
		model("a") + "api_key: x\napi_key_env: X\n":                                                                       "line 5, column 10: api_key: give api_key or api_key_env, not both",
		"kind: tool\nkey: a\nsource: web_search\n":                                                                        "line 1, column 1: web_search: is required: the provider",
		"kind: tool\nkey: a\nsource: mcp\n":                                                                               "line 1, column 1: mcp: is required: the server's url or command",
		tools("{source: function, key: a, web_search: {provider: searxng, base_url: http://x}}"):                          "config.tools[0].web_search: belongs to source web_search",
		tools("{source: web_search, key: a, web_search: {provider: brave, auth: {type: bearer, secret: a}}}"):             "config.tools[0].web_search.auth.type: must be header",
		tools("{source: web_search, key: a, web_search: {provider: tavily, auth: {type: header, header: X, secret: a}}}"): "config.tools[0].web_search.auth.type: must be bearer",
	} {
		got := faults(t, text)
		if len(got) != 1 || !strings.Contains(got[0], want) {
			t.Errorf("%s got %q, want %q", text, got, want)
		}
	}
}

// tools is an agent with one tool.
func tools(tool string) string {
	return "kind: agent\nkey: a\nconfig:\n  model: m\n  tools: [" + tool + "]\n"
}

func ExampleErrors() {
	text := "kind: agent\nkey: a\nconfig:\n  model: m\n  limits: {max_tool_calls: -1}\n"
	_, err := manifest.Parse("belay.yaml", strings.NewReader(text), nil)
	fmt.Println(err)
	// Output: belay.yaml: document 1, line 5, column 28: config.limits.max_tool_calls: must be 0 or more
}
