package openai

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/tiktoken-go/tokenizer"

	"github.com/belayrun/belay/internal/agent"
)

var samples = map[string]string{
	"english": "It's the second one that counts: don't let go of the rope, they'll say, WE'RE ON BELAY. \n\n  Then   nothing.\n",
	"german":  "Größere Übergangslösungen für Straßenbahnhaltestellen kosten 12345,67 €; der Rückbau dauert länger.\r\n",
	"code":    "func (c *Client) HTTPServer(ctx context.Context) error {\n\t\tif err := c.do(ctx, \"/v1/x\"); err != nil {\n\t\t\treturn err // why\n\t\t}\n}\n",
	"json":    `{"id":"call_1","arguments":{"path":"/etc/hosts","n":[1,22,333,4444],"ok":true,"snake_case_name":null}}`,
	"chinese": "你好，世界。停止命令必须立即生效，并且要如实报告停止了什么。",
	"emoji":   "Belay that! 🧗‍♀️🪢 Ok 👍🏽.  naïve café — “quoted”…",
	"arabic":  "مرحبا بالعالم، توقف الآن.",
	"spaces":  "a  b\t\tc \n \n d   ",
}

func exact(t testing.TB, s string) int {
	codec, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		t.Fatal(err)
	}
	n, err := codec.Count(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestEstimateOfShortTextsIsExact(t *testing.T) {
	t.Parallel()
	c := new(Client)
	for name, s := range samples {
		if got, want := c.CountTokens(agent.Request{}, s).Output, exact(t, s); got != int64(want) {
			t.Errorf("%s: %d tokens, the tokenizer says %d", name, got, want)
		}
	}
}

func TestEstimateOfLongTextsIsWithinThreePercent(t *testing.T) {
	t.Parallel()
	c := new(Client)
	for name, s := range samples {
		var b strings.Builder
		for i := 0; b.Len() < 100<<10; i++ {
			fmt.Fprintf(&b, "%s %d ", s, i*7919)
		}
		got, want := float64(c.CountTokens(agent.Request{}, b.String()).Output), float64(exact(t, b.String()))
		if math.Abs(got-want) > 0.03*want {
			t.Errorf("%s: %.0f tokens, the tokenizer says %.0f", name, got, want)
		}
	}
}

func TestEstimateCountsWhatTheModelIsGiven(t *testing.T) {
	t.Parallel()
	c := new(Client)
	req := agent.Request{Prompts: []agent.Prompt{{Role: agent.RoleUser, Text: "hello world"}}}
	plain := c.CountTokens(req, "")
	if !plain.Estimated || plain.Input < 2 || plain.Output != 0 {
		t.Errorf("estimate %+v", plain)
	}
	req.Prompts = append(req.Prompts, agent.Prompt{Role: agent.RoleAssistant, Calls: []agent.Call{{ID: "1", Name: "look", Arguments: []byte(`{"at":"the sea"}`)}}})
	calls := c.CountTokens(req, "")
	req.Tools = []agent.ToolSpec{{Name: "look", Description: "Looks around.", Parameters: []byte(`{"type":"object"}`)}}
	tools := c.CountTokens(req, "")
	if calls.Input <= plain.Input || tools.Input <= calls.Input {
		t.Errorf("input %d, with a call %d, with a tool %d", plain.Input, calls.Input, tools.Input)
	}
	if none := c.CountTokens(agent.Request{}, "\xff\xfe"); none.Output < 1 {
		t.Errorf("invalid UTF-8 counts %d", none.Output)
	}
}

func TestEstimatesMayBeMadeAtOnce(t *testing.T) {
	t.Parallel()
	c := new(Client)
	want := c.CountTokens(agent.Request{}, samples["english"])
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range 50 {
				if got := c.CountTokens(agent.Request{}, samples["english"]); got != want {
					t.Errorf("%+v, then %+v", want, got)
				}
			}
		})
	}
	wg.Wait()
}

// BenchmarkCountTokens is what each of 2,000 turns pays that are stopped at
// once (field report 48): a history of the size, and an answer of 2 KiB.
func BenchmarkCountTokens(b *testing.B) {
	text := strings.Repeat(samples["english"]+samples["code"]+samples["json"], 1000)
	for _, size := range []int{1 << 10, 8 << 10, 64 << 10, 256 << 10} {
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			c := new(Client)
			req := agent.Request{Prompts: []agent.Prompt{{Role: agent.RoleUser, Text: text[:size]}}}
			b.ReportAllocs()
			for b.Loop() {
				c.CountTokens(req, text[:2<<10])
			}
		})
	}
}

// Words that were never met are the worst case.
func BenchmarkCountTokensUnknownWords(b *testing.B) {
	c, n := new(Client), 0
	b.ReportAllocs()
	for b.Loop() {
		var s strings.Builder
		for s.Len() < 8<<10 {
			n++
			fmt.Fprintf(&s, "w%xq ", n*2654435761)
		}
		c.CountTokens(agent.Request{}, s.String())
	}
}
