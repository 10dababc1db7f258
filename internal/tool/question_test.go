package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/tool"
)

func TestAQuestionThatNobodyCouldAnswerIsRefused(t *testing.T) {
	t.Parallel()
	for arguments, field := range map[string]string{
		`{"question":"Why?"}`:                                                     "",
		`{"question":"Why?","allow_free_text":true}`:                              "",
		`{"question":"Which?","options":["a","b"]}`:                               "",
		`{"question":"Which?","options":["a"],"allow_free_text":false}`:           "",
		`{"question":" "}`:                                                        "question",
		`{"question":"Why?","allow_free_text":false}`:                             "options",
		`{"question":"Which?","options":["a",""]}`:                                "options[1]",
		`{"question":"Which?","options":["a","b","a"]}`:                           "options[2]",
		`{"question":"Which?","options":["` + strings.Repeat(`a","`, 50) + `b"]}`: "options",
	} {
		var q agent.Question
		if err := json.Unmarshal([]byte(arguments), &q); err != nil {
			t.Fatal(err)
		}
		got := ""
		if f, ok := errors.AsType[*agent.FieldError](q.Validate()); ok {
			got = f.Field
		}
		if got != field {
			t.Errorf("%s: fault at %q, want %q", arguments, got, field)
		}
	}
}

func TestAnAnswerIsOneOfTheOptionsUnlessAnyWillDo(t *testing.T) {
	t.Parallel()
	for arguments, want := range map[string]bool{
		`{"question":"Why?"}`:                                             true,
		`{"question":"Which?","options":["tea","coffee"]}`:                false,
		`{"question":"Which?","options":["tea"],"allow_free_text":true}`:  true,
		`{"question":"Which?","options":["tea"],"allow_free_text":false}`: false,
	} {
		a := agent.Action{Type: agent.ActionQuestion, Arguments: json.RawMessage(arguments)}
		err := a.CheckAnswer("milk")
		if f, ok := errors.AsType[*agent.FieldError](err); want != (err == nil) || !want && (!ok || f.Field != "answer" || !strings.Contains(f.Message, "tea")) {
			t.Errorf("%s: milk: %v", arguments, err)
		}
		if err := a.CheckAnswer("tea"); err != nil {
			t.Errorf("%s: tea: %v", arguments, err)
		}
	}
}

func TestAskUserIsAnsweredByAPerson(t *testing.T) {
	t.Parallel()
	box := tool.Toolbox{agent.SourceQuestion: tool.Questions{}}
	tools, err := box.Open(t.Context(), agent.Session{}, []agent.ToolRef{{Source: "question", Key: "user", Approval: "always"}})
	if err != nil || len(tools) != 1 {
		t.Fatalf("%d tools, %v", len(tools), err)
	}
	ask := tools[0]
	if ask.Spec.Name != "ask_user" || ask.Source != "user" || ask.Asks != agent.ActionQuestion || ask.Call != nil {
		t.Errorf("tool %+v", ask)
	}
	for arguments, want := range map[string]string{
		`{"question":"Why?"}`:                    "",
		`{"question":"Why?","options":null}`:     "",
		`{}`:                                     "required",
		`{"question":7}`:                         "schema",
		`{"question":"Why?","choices":["a"]}`:    "additional",
		`{"question":"Which?","options":[""]}`:   "options[0]: must not be empty",
		`{"question":"Which?","options":"a, b"}`: "schema",
	} {
		if err := ask.Check([]byte(arguments)); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", arguments, err, want)
		}
	}
	_, err = box.Open(t.Context(), agent.Session{}, []agent.ToolRef{{Source: "question", Key: "user", Names: []string{"ask"}}})
	if f, ok := errors.AsType[*agent.FieldError](err); !ok || f.Field != "tools[0].names[0]" {
		t.Errorf("a name that is not there: %v", err)
	}
}

// foreign gives one tool with a schema that others wrote.
type foreign string

func (f foreign) Open(context.Context, agent.Session, agent.ToolRef) ([]agent.Tool, error) {
	return []agent.Tool{{Spec: agent.ToolSpec{Name: "f", Parameters: json.RawMessage(f)}}}, nil
}

func TestEveryToolsArgumentsAreChecked(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`
	for _, x := range []struct{ schema, arguments, want string }{
		{schema, `{"n":1}`, ""},
		{schema, `{"n":"1"}`, "schema"},
		{schema, `{`, "not JSON"},
		{``, `{"any":1}`, ""},
		{``, `[]`, "schema"},
		{`{"$ref":"#/nowhere"}`, `{"any":1}`, ""}, // can't be used
		{`{"$ref":"#/nowhere"}`, `"text"`, "schema"},
		{`7`, `{}`, ""},
	} {
		tools, err := tool.Toolbox{"x": foreign(x.schema)}.Open(t.Context(), agent.Session{}, []agent.ToolRef{{Source: "x"}})
		if err != nil {
			t.Fatal(err)
		}
		if err := tools[0].Check([]byte(x.arguments)); x.want == "" && err != nil || x.want != "" && (err == nil || !strings.Contains(err.Error(), x.want)) {
			t.Errorf("%s against %q: %v, want %q", x.arguments, x.schema, err, x.want)
		}
	}
}
