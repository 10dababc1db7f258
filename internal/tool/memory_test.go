package tool_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/tool"
)

// notes is a memory of one mind; err is what it answers instead.
type notes struct {
	mind agent.Mind
	kept []agent.Memory
	err  error
}

func (n *notes) Remember(_ context.Context, m agent.Mind, text string) error {
	n.mind, n.kept = m, append(n.kept, agent.Memory{Text: text, At: time.Unix(0, 1)})
	return n.err
}

func (n *notes) Recall(_ context.Context, m agent.Mind, _ string, limit int) ([]agent.Memory, error) {
	n.mind = m
	return n.kept[:min(limit, len(n.kept))], n.err
}

func TestMemoryTools(t *testing.T) {
	t.Parallel()
	store := &notes{}
	box := tool.Toolbox{agent.SourceMemory: tool.Memories{Store: store}}
	session := agent.Session{Project: "p", Agent: "a", Owner: "token:ann"}
	tools, err := box.Open(t.Context(), session, []agent.ToolRef{{Source: "memory", Key: "mind"}})
	if err != nil || len(tools) != 2 {
		t.Fatalf("%d tools, %v", len(tools), err)
	}
	remember, recall := tools[0], tools[1]
	for _, x := range tools {
		if x.Abortable || x.Timeout != 10*time.Second || x.Source != "mind" {
			t.Errorf("%s: %+v", x.Spec.Name, x)
		}
	}
	for _, x := range []struct {
		tool            agent.Tool
		arguments, want string
	}{
		{recall, `{"query":""}`, `{"memories":[]}`},
		{remember, `{"text":"tea"}`, "remembered"},
		{recall, `{"query":"tea"}`, `{"memories":[{"text":"tea","remembered_at":"1970-01-01T00:00:00Z"}]}`},
		{remember, `{"text":" "}`, "error: text is empty: there is nothing to remember"},
		{remember, `{"text":"` + strings.Repeat("ä", 4001) + `"}`, "error: text has 4001 characters, more than 4000: remember less, or in parts"},
		{remember, `{}`, "error: the arguments do not match"},
	} {
		out, err := x.tool.Call(t.Context(), []byte(x.arguments))
		if err != nil {
			out = "error: " + err.Error()
		}
		if !strings.HasPrefix(out, x.want) {
			t.Errorf("%s %.40s: %q, want %q", x.tool.Spec.Name, x.arguments, out, x.want)
		}
	}
	if want := (agent.Mind{Project: "p", Agent: "a", Owner: "token:ann"}); store.mind != want {
		t.Errorf("mind %+v", store.mind)
	}
	store.err = fmt.Errorf("dial 10.0.0.1: %w", agent.ErrUnavailable)
	for _, x := range []struct {
		tool      agent.Tool
		arguments string
	}{{recall, `{"query":"tea"}`}, {remember, `{"text":"tea"}`}} {
		if _, err := x.tool.Call(t.Context(), []byte(x.arguments)); err == nil || err.Error() != "the memory can't be reached now" {
			t.Errorf("%s while it is away: %v", x.tool.Spec.Name, err)
		}
	}
}
