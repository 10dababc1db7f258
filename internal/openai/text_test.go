package openai_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/openai/openaitest"
)

// content is an event whose text is the inside of a JSON string.
func content(raw string) openaitest.Step {
	return openaitest.Raw("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"" + raw + "\"}}]}\n\n")
}

func TestTextIsAlwaysValidAndLosesNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		raws []string
		want string
	}{
		"plain":                        {[]string{"a", "b"}, "ab"},
		"escapes":                      {[]string{`\"\\\n\u00e9\/`}, "\"\\\né/"},
		"invalid bytes":                {[]string{"a\xff\xfez"}, "a\uFFFD\uFFFDz"},
		"pair in one":                  {[]string{`\ud83e\uddd7`}, "🧗"},
		"pair in two":                  {[]string{`a\ud83e`, `\uddd7b`}, "a🧗b"},
		"pair in two, upper case":      {[]string{`a\uD83E`, `\uDDD7b`}, "a🧗b"},
		"pair with an empty between":   {[]string{`\ud83e`, ``, `\uddd7`}, "🧗"},
		"first half alone":             {[]string{`a\ud83e`, `b`}, "a\uFFFDb"},
		"first half at the end":        {[]string{`a`, `\ud83e`}, "a\uFFFD"},
		"second half alone":            {[]string{`\uddd7`}, "\uFFFD"},
		"two first halves":             {[]string{`\ud83e`, `\ud83e\uddd7`}, "\uFFFD🧗"},
		"an escaped backslash":         {[]string{`a\\ud83e`, `b`}, `a\ud83eb`},
		"a backslash, then a half":     {[]string{`a\\\ud83e`, `\uddd7`}, `a\🧗`},
		"bytes of a character in two":  {[]string{"gr\xc3", "\xb6\xc3\x9fe"}, "größe"},
		"bytes of a character in four": {[]string{"\xf0", "\x9f", "\xa7", "\x97"}, "🧗"},
		"a beginning, then another":    {[]string{"a\xf0\x9f", `b\n`}, "a\uFFFD\uFFFDb\n"},
		"a beginning at the end":       {[]string{"a\xc3"}, "a\uFFFD"},
		"held, then quotes":            {[]string{`\ud83e`, `\"<&`}, "\uFFFD\"<&"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var steps []openaitest.Step
			for _, raw := range c.raws {
				steps = append(steps, content(raw))
			}
			got := read(within(t), t, replying(t, steps...).client, hello(), func(d agent.Delta) {
				if !utf8.ValidString(d.Text) {
					t.Errorf("delta %q", d.Text)
				}
			})
			if got.err != nil || got.text.String() != c.want {
				t.Errorf("text %q, want %q; error %v", got.text.String(), c.want, got.err)
			}
		})
	}
}

func TestInvalidUTF8IsReplaced(t *testing.T) {
	t.Parallel()
	got := read(within(t), t, replying(t, openaitest.InvalidUTF8()).client, hello(), nil)
	s := got.text.String()
	if got.err != nil || !utf8.ValidString(s) || !strings.HasPrefix(s, "a\uFFFD") || !strings.HasSuffix(s, "(z") {
		t.Errorf("text %q, error %v", s, got.err)
	}
}

func TestAMegabyteInOneChunkArrives(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("größer ", 1<<20/8)
	got := read(within(t), t, replying(t, openaitest.Text(0, "a", big, "z")).client, hello(), nil)
	if got.err != nil || got.text.String() != "a"+big+"z" {
		t.Errorf("%d bytes, error %v", got.text.Len(), got.err)
	}
}

func TestALineWithoutEndIsAnError(t *testing.T) {
	t.Parallel()
	part := strings.Repeat("x", 1<<20)
	steps := []openaitest.Step{openaitest.Raw(`data: {"choices":[{"delta":{"content":"`)}
	for range 40 {
		steps = append(steps, openaitest.Raw(part))
	}
	r := replying(t, steps...)
	read(within(t), t, r.client, hello(), nil).failed(t, agent.CodeModelError, false)
	seen := ok[openaitest.Request](t)(r.WaitAborted(within(t), 1))
	if seen.Chunks > 38 {
		t.Errorf("%d MiB were read", seen.Chunks)
	}
}

func TestWhatIsNotTextIsPassedOver(t *testing.T) {
	t.Parallel()
	r := replying(t,
		openaitest.Raw(`data: {"choices":[],"prompt_filter_results":[{"x":1}]}`+"\n\n"),
		openaitest.Raw(`data: {"choices":[{"index":0,"delta":{"role":"assistant","content":null,"tool_calls":null}}],"usage":null,"error":null}`+"\n\n"),
		openaitest.Raw(`data: {"choices":[{"index":1,"delta":{"content":"other choice"}}]}`+"\n\n"),
		openaitest.Raw(`data: {"choices":[{"index":0,"delta":{"reasoning":"hm","reasoning_content":"hm"}}]}`+"\n\n"),
		openaitest.Raw(`data:{"choices":[{"delta":{"refusal":"I will not."}}]}`+"\r\n\r\n"),
		openaitest.Raw(`data: {"choices":[],"usage":{"prompt_tokens":0,"completion_tokens":0}}`+"\n\n"),
	)
	got := read(within(t), t, r.client, hello(), nil)
	if got.err != nil || got.text.String() != "I will not." || got.reasoning.String() != "hm" {
		t.Errorf("text %q, reasoning %q, error %v", got.text.String(), got.reasoning.String(), got.err)
	}
}

func TestCountsThatCannotBeAreMadePossible(t *testing.T) {
	t.Parallel()
	r := replying(t, openaitest.Text(0, "a"), openaitest.Usage(10, 400, 5, 60))
	got := read(within(t), t, r.client, hello(), nil)
	if want := (agent.Tokens{Input: 10, CachedInput: 10, Output: 5, Reasoning: 5}); got.usage == nil || *got.usage != want {
		t.Errorf("usage %+v", got.usage)
	}
}

func TestFinishIsTranslated(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]agent.Finish{
		"stop": agent.FinishStop, "length": agent.FinishLength, "content_filter": agent.FinishFilter,
		"eos": agent.FinishStop, "tool_calls": agent.FinishStop, // without a call there is none to run
	} {
		got := read(within(t), t, replying(t, openaitest.Text(0, "a"), openaitest.Finish(said)).client, hello(), nil)
		if got.err != nil || got.finish != want {
			t.Errorf("%s: %q, error %v", said, got.finish, got.err)
		}
	}
}

func TestCallsArriveWholeAndInOrder(t *testing.T) {
	t.Parallel()
	r := replying(t,
		openaitest.Text(0, "I look."),
		openaitest.Call("c1", "look", `{"a`, `t":"se`, `a"}`),
		openaitest.Call("c2", "now"),
		openaitest.Call("", "anonymous", "{}"),
		openaitest.Call("c1", "again", "[1]"),
	)
	got := read(within(t), t, r.client, hello(), nil)
	if got.err != nil || got.finish != agent.FinishCalls || len(got.calls) != 4 {
		t.Fatalf("calls %v, finish %q, error %v", got.calls, got.finish, got.err)
	}
	var names []string
	ids := map[string]bool{}
	for _, c := range got.calls {
		names = append(names, c.Name+string(c.Arguments))
		ids[c.ID] = c.ID != ""
	}
	if s := fmt.Sprint(names); s != `[look{"at":"sea"} now{} anonymous{} again[1]]` {
		t.Errorf("calls %s", s)
	}
	if len(ids) != 4 || !ids["c1"] || !ids["c2"] {
		t.Errorf("ids %v", ids)
	}
}

// fragment is an event with a part of a call, as servers other than OpenAI's
// send them.
func fragment(call string) openaitest.Step {
	return openaitest.Raw(`data: {"choices":[{"index":0,"delta":{"tool_calls":[` + call + `]}}]}` + "\n\n")
}

func TestCallsOfServersThatNumberThemOtherwise(t *testing.T) {
	t.Parallel()
	for name, steps := range map[string][]openaitest.Step{
		"no index": {
			fragment(`{"id":"a","function":{"name":"f","arguments":"{\"x\""}}`), fragment(`{"function":{"arguments":":1}"}}`),
			fragment(`{"id":"b","function":{"name":"g","arguments":"{}"}}`),
		},
		"one index for all": {
			fragment(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}`),
			fragment(`{"index":0,"id":"b","function":{"name":"g","arguments":"{}"}}`),
		},
		"id and name in each": {
			fragment(`{"index":3,"id":"a","function":{"name":"f","arguments":"{\"x\""}}`),
			fragment(`{"index":3,"id":"a","function":{"name":"f","arguments":":1}"}},{"index":9,"id":"b","function":{"name":"g","arguments":""}}`),
		},
	} {
		got := read(within(t), t, replying(t, append(steps, openaitest.Finish("stop"))...).client, hello(), nil)
		if got.err != nil || got.finish != agent.FinishCalls || len(got.calls) != 2 ||
			string(got.calls[0].Arguments) != `{"x":1}` || got.calls[1].ID != "b" || string(got.calls[1].Arguments) != "{}" {
			t.Errorf("%s: calls %+v, finish %q, error %v", name, got.calls, got.finish, got.err)
		}
	}
}

func TestCallsThatCannotBeMadeAreErrors(t *testing.T) {
	t.Parallel()
	many := make([]openaitest.Step, 0, 200)
	for i := range 200 {
		many = append(many, openaitest.Call(fmt.Sprint(i), "f", "{}"))
	}
	for name, steps := range map[string][]openaitest.Step{
		"not JSON": {openaitest.Call("c", "f", `{"a":`)},
		"no name":  {openaitest.Call("c", "", `{}`)},
		"too many": many,
	} {
		got := read(within(t), t, replying(t, steps...).client, hello(), nil)
		e := got.failed(t, agent.CodeModelError, false)
		if len(got.calls) != 0 || name == "not JSON" && !strings.Contains(e.Message, "not JSON") {
			t.Errorf("%s: calls %v, message %q", name, got.calls, e.Message)
		}
	}
}

// An answer cut off by its limit may end within a call: that one is dropped,
// and the rest is as the model meant it.
func TestACallCutByTheLimitIsDropped(t *testing.T) {
	t.Parallel()
	r := replying(t, openaitest.Call("a", "f", `{}`), openaitest.Call("b", "g", `{"x":`), openaitest.Call("c", "h"), openaitest.Finish("length"))
	got := read(within(t), t, r.client, hello(), nil)
	if got.err != nil || got.finish != agent.FinishLength || len(got.calls) != 1 || got.calls[0].ID != "a" {
		t.Errorf("calls %v, finish %q, error %v", got.calls, got.finish, got.err)
	}
}
