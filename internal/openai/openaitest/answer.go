package openaitest

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"time"
	"unicode/utf8"
)

// slow is the pause between the words of /slow and of what stands before a fault.
const slow = 100 * time.Millisecond

// Answer is the Script of a Provider without one: see the package doc.
func (p *Provider) Answer(req Request) Reply {
	d := parseDirectives(req.Last("user"))
	a := answering{p: p, req: req, d: d, rng: p.random(req)}
	return a.reply()
}

// random depends on the seed and on what was asked, not on what came before.
func (p *Provider) random(req Request) *rand.Rand {
	h := fnv.New64a()
	for _, m := range req.Messages {
		h.Write([]byte(m.Role))
		h.Write([]byte(m.Content))
	}
	return rand.New(rand.NewPCG(p.seed, h.Sum64()))
}

// answering makes one reply.
type answering struct {
	p   *Provider
	req Request
	d   directives
	rng *rand.Rand
}

func (a *answering) reply() Reply {
	var out Reply
	if a.d.wait > 0 {
		out = append(out, Pause(a.d.wait))
	}
	if a.d.nousage {
		out = append(out, NoUsage())
	}
	switch {
	case a.d.hang:
		return append(out, HangBeforeHeaders())
	case a.d.code > 0:
		return append(out, Status(a.d.code, nil, ""))
	}
	if calls := a.calls(); len(calls) > 0 {
		return append(out, calls...)
	}
	if a.d.reason {
		out = append(out, Reasoning(a.pause(), words("The question is short, so the answer can be as well. ")...))
	}
	if fault := a.d.fault; fault != nil {
		return append(out, append(Reply{Text(slow, words(prose(a.rng, 5))...)}, fault...)...)
	}
	delay, chunks := a.text()
	out = append(out, Text(delay, chunks...))
	if a.d.length {
		out = append(out, Finish("length"))
	}
	return out
}

// calls returns what asks for the tools that have no result yet.
func (a *answering) calls() Reply {
	have := len(a.req.results())
	id := func(i int) string { return fmt.Sprintf("call_%08x_%d", a.rng.Uint32(), i) }
	if a.d.loop > have {
		return Reply{Call(id(have), a.d.loopCall.Name, fragments(a.d.loopCall.Arguments)...)}
	}
	if have > 0 {
		return nil
	}
	var out Reply
	for i, c := range a.d.tools {
		out = append(out, Call(id(i), c.Name, fragments(c.Arguments)...))
	}
	return out
}

func (a *answering) pause() time.Duration {
	if a.p.rate <= 0 {
		return 0
	}
	return time.Duration(float64(time.Second) / a.p.rate)
}

// text returns the answer in chunks and the pause between them.
func (a *answering) text() (time.Duration, []string) {
	delay := a.pause()
	if a.d.delay >= 0 {
		delay = a.d.delay
	}
	switch {
	case a.d.words > 0:
		return delay, grouped(words(prose(a.rng, a.d.words)), a.d.chunk)
	case a.d.echo != "":
		return delay, words(a.d.echo)
	case len(a.req.results()) > 0:
		return delay, words(a.aboutResults())
	}
	return delay, words(a.plain())
}

func (a *answering) aboutResults() string {
	var b strings.Builder
	for i, m := range a.req.results() {
		if i > 0 {
			b.WriteString(" ")
		}
		fmt.Fprintf(&b, "The tool answered: %s", strings.TrimSpace(shorten(m.Content, 400)))
	}
	return b.String()
}

// plain is the answer to a message without directives.
func (a *answering) plain() string {
	said := strings.Join(strings.Fields(a.req.Last("user")), " ")
	var b strings.Builder
	fmt.Fprintf(&b, "You said: %q. ", shorten(said, 120))
	if earlier := a.req.Last("assistant"); strings.TrimSpace(earlier) != "" {
		b.WriteString(ended(earlier) + " ")
	}
	b.WriteString("I am the mock model, so this answer comes from a script. ")
	b.WriteString(prose(a.rng, 40))
	return b.String()
}

// ended says how an earlier answer ended. A stopped one ends within a sentence;
// nothing else in a history tells.
func ended(answer string) string {
	fields := strings.Fields(answer)
	tail := strings.Join(fields[max(0, len(fields)-6):], " ")
	if last, _ := utf8.DecodeLastRuneInString(tail); strings.ContainsRune(`.!?…"`, last) {
		return fmt.Sprintf("I ended my last answer with \"…%s\"", tail)
	}
	return fmt.Sprintf("My last answer was cut after \"…%s\".", tail)
}

func shorten(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n]) + "…"
}

// words cuts a text after each blank; put together again it is the same text.
func words(s string) []string {
	if s == "" {
		return nil
	}
	return strings.SplitAfter(s, " ")
}

func grouped(words []string, n int) []string {
	if n <= 1 {
		return words
	}
	var out []string
	for len(words) > 0 {
		k := min(n, len(words))
		out = append(out, strings.Join(words[:k], ""))
		words = words[k:]
	}
	return out
}

// fragments cuts arguments the way models stream them: some bytes at a time.
func fragments(s string) []string {
	var out []string
	for len(s) > 0 {
		n := min(7, len(s))
		for n < len(s) && !utf8.RuneStart(s[n]) {
			n++
		}
		out = append(out, s[:n])
		s = s[n:]
	}
	return out
}

var sentences = [...]string{
	"A rope under load tells you where it wants to go.",
	"The second on the wall watches the climber, not the knot.",
	"Whoever gives the order to stop must be heard at once.",
	"A ship turns slowly, and a crew turns faster when it listens.",
	"Every line on deck has a name and one place where it is made fast.",
	"When the wind drops, the sails are quiet and the work goes on.",
	"Good hands let the line run and hold it when it matters.",
	"The log says what was done, by whom, and at what hour.",
	"Belay is what you say when an order no longer holds.",
	"In the morning the harbour smells of tar, coffee and rain.",
}

// prose returns n words, the last of which ends a sentence.
func prose(rng *rand.Rand, n int) string {
	out := make([]string, 0, n+12)
	for at := rng.IntN(len(sentences)); len(out) < n; at++ {
		out = append(out, strings.Fields(sentences[at%len(sentences)])...)
	}
	text := strings.Join(out[:n], " ")
	return strings.TrimRight(text, ".,") + "."
}
