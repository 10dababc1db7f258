package manifest_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/belayrun/belay/internal/manifest"
)

// FuzzParse holds Parse to its word on any input: Errors with places inside the
// file, or a manifest that is valid and without duplicates.
func FuzzParse(f *testing.F) {
	f.Add(whole)
	for kind, fields := range badFields {
		for path, values := range fields {
			for value := range values {
				f.Add(documentWith(kind, path, value))
			}
		}
	}
	for _, s := range []string{
		"", "---", "...", "\x00", "\xff", "\uFEFF", "%YAML 1.1\n---\n", "&a [*a]", "? ", "- - -", "a: !!binary x", "<<: *x", "!", "!!",
		"kind: model\n<<: &m {<<: [{}, {key: a}]}\n", "kind: agent\nconfig: &c {<<: *c}\n", "? [a]\n: b\n", "{? <<: [], kind: model}",
		"kind: &k model\nkey: *k\n", "kind: agent\nkey: a\nconfig: {model: m, tools: [&t {<<: *t}]}\n", "kind: |2-\n   model\n", "\"kind\": !!str model",
		"kind: model\nretries: !!int x\n", "kind: model\nretries: 0b11\n", "kind: model\nretries: 1_0\n", "kind: model\nretries: !!int \"1\"\n", "a: 2001-01-01",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := manifest.Parse("f", strings.NewReader(text), map[string]string{"A": "b"})
		if err != nil {
			checkErrors(t, text, err)
			return
		}
		seen := map[string]bool{}
		for _, model := range m.Models {
			if err := model.Validate(""); err != nil || seen[model.Key] {
				t.Errorf("model %q: %v", model.Key, err)
			}
			seen[model.Key] = true
		}
		clear(seen)
		for _, a := range m.Agents {
			if err := a.Draft.Validate(""); err != nil || seen[a.Key] || a.Key == "" {
				t.Errorf("agent %q: %v", a.Key, err)
			}
			seen[a.Key] = true
		}
	})
}

func checkErrors(t *testing.T, text string, err error) {
	t.Helper()
	errs, ok := errors.AsType[manifest.Errors](err)
	if !ok || len(errs) == 0 || len(errs) > 100 {
		t.Fatalf("%T: %v", err, err)
	}
	lines := strings.Count(text, "\n") + strings.Count(text, "\r") + strings.Count(text, "\u0085") + strings.Count(text, "\u2028") + strings.Count(text, "\u2029") + 2
	for _, e := range errs {
		if e.Message == "" || e.Line < 0 || e.Line > lines || e.Column < 0 || e.Column > len(text)+2 {
			t.Errorf("%+v is nowhere in a file of %d lines", e, lines)
		}
		if strings.ContainsAny(e.Error(), "\n\x00") {
			t.Errorf("an error of several lines: %q", e.Error())
		}
	}
}
