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

// badFields holds bad values of every field of a document and what is said.
var badFields = map[string]map[string]map[string]string{
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
	"agent": {
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
		"config.tools":                                     {"": noValue, "{}": "must be a list, not a mapping", "[a]": "must be a mapping, not text", "[~]": noValue, "[{}]": "must be function", "[{sauce: function}]": "unknown field, did you mean source?"},
		"config.tools[0].source":                           {"": noValue, "1": notText, "mcp": "must be function"},
		"config.tools[0].key":                              {"": noValue, "1": notText, "A": keyRule, `""`: "is required"},
		"config.tools[0].names":                            {"": noValue, "a": "must be a list, not text", "[1]": notText, `[""]`: "must be 1 to 64", `["a b"]`: "must be 1 to 64", "[" + strings.Repeat("a", 65) + "]": "must be 1 to 64"},
		"config.tools[0].approval":                         {"": noValue, "true": "must be text, not true or false", "sometimes": "must be always or never"},
		"config.tools[0].timeout_ms":                       {"": noValue, `"1"`: notNumber, "1.5": fraction, "-1": "must be 0 or more"},
		"config.tools[0].web_search":                       {"": noValue, "x": "must be a mapping, not text", "{}": "must be searxng, brave, tavily", "{provider: searxng, base_url: 'http://x', page: 1}": "unknown field", "{provider: searxng}": "is required: where the SearXNG is", "{provider: brave}": "is required: the provider's key"},
		"config.tools[0].web_search.provider":              {"": noValue, "1": notText, "google": "must be searxng, brave, tavily"},
		"config.tools[0].web_search.base_url":              {"": noValue, "1": notText, "x": "must be an http or https URL", "ftp://x": "must be an http or https URL"},
		"config.tools[0].web_search.auth":                  {"": noValue, "a": "must be a mapping, not text", "[]": "must be a mapping, not a list", "{type: header, secret: a}": "is required: the header's name", "{type: basic, secret: a}": "is required"},
		"config.tools[0].web_search.auth.type":             {"": noValue, "1": notText, "none": "must be bearer, basic or header"},
		"config.tools[0].web_search.auth.header":           {"": noValue, "1": notText, "[]": "must be text, not a list"},
		"config.tools[0].web_search.auth.username":         {"": noValue, "1": notText, "[]": "must be text, not a list"},
		"config.tools[0].web_search.auth.secret":           {"": noValue, "1": notText, "A": keyRule, `""`: "is required"},
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
		"config.execution.callback_url":                    {"": noValue, "1": notText, "x": "must be an http or https URL"},
		"config.execution.callback_secret":                 {"": noValue, "1": notText, "[]": "must be text, not a list"},
	},
}

// documentWith returns a document that has a value at a path and is right
// otherwise, in JSON's notation, and the column of the value.
func documentWith(kind, path, value string) string {
	right := map[string]map[string]string{
		"model":  {"key": "a", "base_url": "http://x", "model": "m"},
		"agent":  {"key": "a", "config": "{model: m}"},
		"config": {"model": "m"}, "tools": {"source": "function", "key": "a"},
		"web_search": {"provider": "searxng", "base_url": "http://x"}, "auth": {"type": "bearer", "secret": "a"},
	}
	if strings.Contains(path, ".web_search") {
		right["tools"]["source"] = "web_search"
	}
	var write func(within, rest string) string
	write = func(within, rest string) string {
		name, deeper, nested := strings.Cut(rest, ".")
		name, index, list := strings.Cut(name, "[")
		v := value
		if nested {
			v = "{" + write(name, deeper) + "}"
		} else if list {
			panic("no value at an index: " + path + index)
		}
		if list {
			v = "[" + v + "]"
		}
		parts := []string{}
		for k, good := range right[within] {
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
				if len(got) != 1 && !strings.HasPrefix(value, "[{") {
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
	models, agents := map[string]bool{}, map[string]bool{"key": true, "name": true, "status": true, "config": true}
	paths(models, "", reflect.TypeFor[agent.Model]())
	paths(agents, "config.", reflect.TypeFor[agent.Config]())
	for kind, want := range map[string]map[string]bool{"model": models, "agent": agents} {
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
		"kind: agent\nkey: a\nconfig:\n  model: m\n  tools:\n  - key: a\n":                                                "line 6, column 5: config.tools[0].source: must be function",
		"kind: agent\nkey: a\nconfig:\n  model: m\n  tools: [{source: function}]\n":                                       "line 5, column 11: config.tools[0].key: is required",
		tools("{source: web_search, key: a}"):                                                                             "config.tools[0].web_search: is required: the provider",
		tools("{source: function, key: a, web_search: {provider: searxng, base_url: http://x}}"):                          "config.tools[0].web_search: belongs to source web_search",
		tools("{source: web_search, key: a, web_search: {provider: brave, auth: {type: bearer, secret: a}}}"):             "config.tools[0].web_search.auth.type: must be header",
		tools("{source: web_search, key: a, web_search: {provider: tavily, auth: {type: header, header: X, secret: a}}}"): "config.tools[0].web_search.auth.type: must be bearer",
		model("a") + "api_key: x\napi_key_env: X\n":                                                                       "line 5, column 10: api_key: give api_key or api_key_env, not both",
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
