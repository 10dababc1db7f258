package tool_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/tool"
)

func open(t *testing.T, refs ...agent.ToolRef) map[string]agent.Tool {
	t.Helper()
	tools, err := tool.Toolbox{"function": tool.Demo()}.Open(t.Context(), agent.Session{}, refs)
	if err != nil {
		t.Fatal(err)
	}
	box := make(map[string]agent.Tool)
	for _, x := range tools {
		box[x.Spec.Name] = x
	}
	return box
}

func TestArgumentsAreCheckedBeforeTheCall(t *testing.T) {
	box := open(t, agent.ToolRef{Source: "function", Key: "demo"})
	for args, want := range map[string]string{
		`{"a":1,"b":2.5}`:       "3.5",
		`{"a":1}`:               "required",
		`{"a":"1","b":2}`:       "type",
		`{"a":1,"b":2,"c":3}`:   "additional",
		`[1,2]`:                 "type",
		`{"a":1,"b":`:           "not JSON",
		`{"a":1,"b":2} trailer`: "not JSON",
	} {
		out, err := box["add"].Call(t.Context(), []byte(args))
		if err != nil {
			out = err.Error()
		}
		if !strings.Contains(strings.ToLower(out), strings.ToLower(want)) {
			t.Errorf("%s: %q, want %q in it", args, out, want)
		}
	}
	if _, err := box["wait"].Call(t.Context(), []byte(`{"seconds":-1}`)); err == nil {
		t.Error("a negative wait is accepted")
	}
}

func TestSchemasAreObjects(t *testing.T) {
	for name, x := range open(t, agent.ToolRef{Source: "function", Key: "demo"}) {
		var s struct{ Type string }
		if err := json.Unmarshal(x.Spec.Parameters, &s); err != nil || s.Type != "object" {
			t.Errorf("%s: %s (%v)", name, x.Spec.Parameters, err)
		}
	}
}

func TestRefsBindAndRefuse(t *testing.T) {
	box := open(t, agent.ToolRef{Source: "function", Key: "slow", Names: []string{"wait"}, Approval: "always", TimeoutMS: 1500})
	if x := box["wait"]; len(box) != 1 || x.Asks != agent.ActionApproval || x.Timeout != 1500*time.Millisecond || x.Source != "slow" || !x.Abortable {
		t.Errorf("bound %+v of %d", x, len(box))
	}
	if open(t, agent.ToolRef{Source: "function", Key: "d", Names: []string{"stubborn"}})["stubborn"].Abortable {
		t.Error("stubborn is abortable")
	}
	for field, refs := range map[string][]agent.ToolRef{
		"tools[0].source":   {{Source: "nope", Key: "k"}},
		"tools[0].names[1]": {{Source: "function", Key: "k", Names: []string{"add", "nope"}}},
		"tools[1].names":    {{Source: "function", Key: "k", Names: []string{"add"}}, {Source: "function", Key: "l", Names: []string{"add"}}},
	} {
		_, err := tool.Toolbox{"function": tool.Demo()}.Open(t.Context(), agent.Session{}, refs)
		if err == nil || !strings.HasPrefix(err.Error(), field+": ") {
			t.Errorf("%v, want %s", err, field)
		}
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(&agent.Stop{By: "x"})
	_, err := open(t, agent.ToolRef{Source: "function", Key: "d"})["wait"].Call(ctx, []byte(`{"seconds":300}`))
	if err == nil || !strings.Contains(err.Error(), "stopped by x") {
		t.Error(err)
	}
}
