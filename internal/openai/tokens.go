package openai

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/tiktoken-go/tokenizer"

	"github.com/belayrun/belay/internal/agent"
)

// Bounds of one estimate. A stop may end thousands of turns in the same second,
// each of which wants one, so its cost may not grow with the history.
const (
	window    = 2 << 10  // bytes counted in one go
	maxCount  = 32 << 10 // bytes of a request or an output that are looked at
	maxMissed = 4 << 10  // bytes of them that may go to the tokenizer
)

// What chat formats add, in tokens.
const (
	perMessage = 4
	perTool    = 8
	perCall    = 8
	perReply   = 3
)

// CountTokens estimates what a provider would count for a request and a text
// that was answered to it: OpenAI's o200k_base tokens, Estimated. Of what is
// longer than 32 KiB, or made of words that were not met before, a sample is
// counted and the rest taken in proportion. It is safe for concurrent use and
// costs well under a millisecond, the very first call some 40 of them.
func (c *Client) CountTokens(req agent.Request, output string) agent.Tokens {
	texts, extra := promptTexts(req)
	n := vocabulary()
	return agent.Tokens{
		Input:     n.count(texts...) + extra,
		Output:    n.count(output),
		Estimated: true,
	}
}

// WarmUp makes the tokenizer ready, which takes some 40 ms of a core and 6 MB
// once for a process: a node does it before its first stop has to.
func WarmUp() { vocabulary().count("ready") }

// promptTexts returns what of a request is text, and the tokens around it.
func promptTexts(req agent.Request) (texts []string, extra int64) {
	extra = perReply
	for _, p := range req.Prompts {
		texts = append(texts, p.Text)
		extra += perMessage
		for _, c := range p.Calls {
			texts = append(texts, c.Name, string(c.Arguments))
			extra += perCall
		}
	}
	for _, t := range req.Tools {
		texts = append(texts, t.Name, t.Description, string(t.Parameters))
		extra += perTool
	}
	return texts, extra
}

// vocabulary is one for the process: it is constant, and six megabytes.
var vocabulary = sync.OnceValue(newCounter)

// counter counts tokens. The tokenizer's regular expression engine reads 6 MB/s;
// a split by hand and a memory of words make that some hundred.
type counter struct {
	codec tokenizer.Codec
	seed  maphash.Seed
	words [1 << 14]atomic.Pointer[word]
}

// word is a remembered word. A slot holds the word that came to it last.
type word struct {
	text   string
	tokens int64
}

const maxWord = 48 // bytes of a word that is remembered

func newCounter() *counter {
	codec, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		panic(err) // the vocabulary is compiled in
	}
	return &counter{codec: codec, seed: maphash.MakeSeed()}
}

// count returns the tokens of all texts together.
func (c *counter) count(texts ...string) int64 {
	var total, looked, missed int
	for _, t := range texts {
		total += len(t)
	}
	if total == 0 {
		return 0
	}
	every := 1 + (total-1)/maxCount
	var tokens int64
	var windows int
	for _, t := range texts {
		for len(t) > 0 && missed <= maxMissed {
			w := t[:cutAt(t, window)]
			t = t[len(w):]
			if windows++; (windows-1)%every == 0 {
				n, m := c.window(w)
				tokens += n
				missed += m
				looked += len(w)
			}
		}
	}
	return (tokens*int64(total) + int64(looked) - 1) / int64(looked)
}

// cutAt returns where a text is cut so that it has n bytes at most and no
// character is cut in two.
func cutAt(s string, n int) int {
	if len(s) <= n {
		return len(s)
	}
	for i := n; i > n-utf8.UTFMax; i-- {
		if utf8.RuneStart(s[i]) {
			return i
		}
	}
	return n
}

// window returns the tokens of a text and how many of its bytes went to the
// tokenizer.
func (c *counter) window(s string) (tokens int64, missed int) {
	for len(s) > 0 {
		w := s[:nextWord(s)]
		s = s[len(w):]
		if len(w) == 1 {
			tokens++ // each byte is a token
			continue
		}
		n, known := c.word(w)
		tokens += n
		if !known {
			missed += len(w)
		}
	}
	return tokens, missed
}

func (c *counter) word(w string) (tokens int64, known bool) {
	slot := &c.words[maphash.String(c.seed, w)%uint64(len(c.words))]
	if e := slot.Load(); e != nil && e.text == w {
		return e.tokens, true
	}
	n, err := c.codec.Count(w)
	if err != nil {
		return int64(len(w)+3) / 4, false
	}
	if len(w) <= maxWord {
		slot.Store(&word{text: string([]byte(w)), tokens: int64(n)}) // a copy: w keeps all of its text alive
	}
	return int64(n), false
}
