package mcp

import (
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/belayrun/belay/internal/agent"
)

func TestNamesAreValidAndUnique(t *testing.T) {
	t.Parallel()
	taken := make(map[string]bool)
	long := strings.Repeat("x", 80)
	for _, c := range []struct{ name, want string }{
		{"get_it", "get_it"}, {"get.it", "get_it_2"}, {"get/it", "get_it_3"}, {"größe", "gr__e"}, {"", "tool"},
		{long, long[:64]}, {long + "y", long[:62] + "_2"},
	} {
		got := unique(taken, c.name)
		if got != c.want || agent.CheckToolName("name", got) != nil {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestResultsAreText(t *testing.T) {
	t.Parallel()
	words := func(s string) *sdk.TextContent { return &sdk.TextContent{Text: s} }
	for want, r := range map[string]*sdk.CallToolResult{
		"":                                       {},
		"a\nb":                                   {Content: []sdk.Content{words("a"), words("b")}},
		`{ "n": 1 }`:                             {Content: []sdk.Content{words(`{ "n": 1 }`)}, StructuredContent: map[string]any{"n": 1.0}},
		"one\n{\"n\":1}":                         {Content: []sdk.Content{words("one")}, StructuredContent: map[string]any{"n": 1.0}},
		"[audio, audio/wav, 2 bytes, not shown]": {Content: []sdk.Content{&sdk.AudioContent{MIMEType: "audio/wav", Data: []byte("ab")}}},
		"[resource r: file:///r]":                {Content: []sdk.Content{&sdk.ResourceLink{Name: "r", URI: "file:///r"}}},
		"inside":                                 {Content: []sdk.Content{&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "x", Text: "inside"}}}},
		"[resource x, of unknown type, 3 bytes, not shown]": {Content: []sdk.Content{&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "x", Blob: []byte("abc")}}}},
		"error: no": {Content: []sdk.Content{words("no")}, IsError: true},
		"error: the tool failed and does not say why": {IsError: true},
	} {
		got, err := text(r)
		if err != nil {
			got = "error: " + err.Error()
		}
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestSchemasThatCannotBeReadAreTheServersToCheck(t *testing.T) {
	t.Parallel()
	for schema, strict := range map[string]bool{
		`{"type":"object","required":["a"]}`:                                                          true,
		`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","required":["a"]}`:      true,
		`{"type":"object","required":["a"],"properties":{"b":{"$ref":"https://example.com/b.json"}}}`: false,
		`{"type":7}`: false,
	} {
		if _, err := check(resolve([]byte(schema)), []byte("{}")); (err != nil) != strict {
			t.Errorf("%s: %v", schema, err)
		}
	}
}

func TestServersThatNobodyUsesAreLetGo(t *testing.T) {
	t.Parallel()
	s := New(Config{})
	defer s.Close()
	at := place{project: "p", source: agent.MCPSource{URL: "http://127.0.0.1:1"}}
	v, err := s.server(at)
	if err != nil {
		t.Fatal(err)
	}
	if same, _ := s.server(at); same != v {
		t.Error("one configuration has two servers")
	}
	at.project = "q"
	if other, _ := s.server(at); other == v {
		t.Error("two projects share a server")
	}
	v.used = time.Now().Add(-2 * idleTimeout)
	v.calls.Store(1)
	if s.sweep(); len(s.servers) != 2 {
		t.Error("a server with a call was let go")
	}
	v.calls.Store(0)
	if s.sweep(); len(s.servers) != 1 {
		t.Error("an idle server was kept")
	}
}
