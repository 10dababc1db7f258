package openai

import (
	"encoding/json"
	"unicode/utf8"
)

// skim reads data into c, which must be empty, if it is a chunk of the usual
// kind: text, and nothing that ends the answer. Nearly all are, and at thousands
// of streams encoding/json would spend more on them than all else does. It
// returns false, with c in any state, for every other chunk and for all that it
// isn't sure is JSON; what it accepts it reads as encoding/json does.
func (c *chunk) skim(data []byte) bool {
	s := skimmer{b: data}
	var seen [3]bool
	ok := s.object(func(key []byte) bool {
		switch string(key) {
		case "choices":
			return once(&seen[0]) && s.array(func() bool { return s.choice(c) })
		case "usage":
			return once(&seen[1]) && s.null()
		case "error":
			return once(&seen[2]) && s.null()
		}
		return s.value(maxDepth)
	})
	return ok && s.next() == 0 && s.i == len(s.b)
}

// maxDepth bounds the nesting of what is passed over.
const maxDepth = 16

// skimmer is a place in a JSON text. Its methods read one thing and return
// false if it is not there, or not what the skimmer is for.
type skimmer struct {
	b []byte
	i int
}

func once(seen *bool) bool {
	first := !*seen
	*seen = true
	return first
}

func (s *skimmer) choice(c *chunk) bool {
	if len(c.Choices) == cap(c.Choices) {
		c.Choices = append(c.Choices, choice{})
	} else {
		c.Choices = c.Choices[:len(c.Choices)+1] // decode has cleared it
	}
	choice := &c.Choices[len(c.Choices)-1]
	var seen [3]bool
	return s.object(func(key []byte) bool {
		switch string(key) {
		case "index":
			return once(&seen[0]) && s.word("0")
		case "finish_reason":
			return once(&seen[1]) && s.null()
		case "delta":
			return once(&seen[2]) && s.delta(&choice.Delta)
		}
		return s.value(maxDepth)
	})
}

func (s *skimmer) delta(d *delta) bool {
	var seen [5]bool
	return s.object(func(key []byte) bool {
		switch string(key) {
		case "content":
			return once(&seen[0]) && s.piece(&d.Content)
		case "refusal":
			return once(&seen[1]) && s.piece(&d.Refusal)
		case "reasoning_content":
			return once(&seen[2]) && s.piece(&d.ReasoningContent)
		case "reasoning":
			return once(&seen[3]) && s.piece(&d.Reasoning)
		case "tool_calls":
			return once(&seen[4]) && s.null()
		}
		return s.value(maxDepth)
	})
}

func (s *skimmer) piece(p *piece) bool {
	if s.next() != '"' {
		return s.null()
	}
	raw, ok := s.str()
	return ok && p.UnmarshalJSON(raw) == nil
}

// next returns the next byte that is not white space, 0 at the end.
func (s *skimmer) next() byte {
	for ; s.i < len(s.b); s.i++ {
		switch c := s.b[s.i]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

func (s *skimmer) eat(c byte) bool {
	if s.next() != c {
		return false
	}
	s.i++
	return true
}

func (s *skimmer) null() bool { return s.word("null") }

func (s *skimmer) word(w string) bool {
	return s.next() != 0 && string(s.bare()) == w
}

// bare reads what stands without quotes: a number or a name.
func (s *skimmer) bare() []byte {
	from := s.i
	for ; s.i < len(s.b); s.i++ {
		switch c := s.b[s.i]; {
		case '0' <= c && c <= '9', 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', c == '-', c == '+', c == '.':
		default:
			return s.b[from:s.i]
		}
	}
	return s.b[from:]
}

// str reads a string, with its quotes.
func (s *skimmer) str() ([]byte, bool) {
	from, escaped := s.i, false
	for s.i++; s.i < len(s.b); s.i++ {
		switch c := s.b[s.i]; {
		case c == '"':
			s.i++
			raw := s.b[from:s.i]
			return raw, !escaped || json.Valid(raw)
		case c == '\\':
			escaped = true
			s.i++
		case c < ' ':
			return nil, false
		}
	}
	return nil, false
}

// object reads an object and calls member at each value, which it must read.
// Keys that encoding/json might take for another by ignoring case are refused.
func (s *skimmer) object(member func(key []byte) bool) bool {
	if !s.eat('{') {
		return false
	}
	if s.eat('}') {
		return true
	}
	for {
		if s.next() != '"' {
			return false
		}
		raw, ok := s.str()
		if !ok || !plainKey(raw[1:len(raw)-1]) || !s.eat(':') || !member(raw[1:len(raw)-1]) {
			return false
		}
		if !s.eat(',') {
			return s.eat('}')
		}
	}
}

func plainKey(key []byte) bool {
	for _, c := range key {
		if c == '\\' || c >= utf8.RuneSelf || 'A' <= c && c <= 'Z' {
			return false
		}
	}
	return true
}

func (s *skimmer) array(element func() bool) bool {
	if !s.eat('[') {
		return false
	}
	if s.eat(']') {
		return true
	}
	for element() {
		if !s.eat(',') {
			return s.eat(']')
		}
	}
	return false
}

// value passes over any value, nested to a depth.
func (s *skimmer) value(depth int) bool {
	switch c := s.next(); {
	case depth == 0 || c == 0:
		return false
	case c == '"':
		_, ok := s.str()
		return ok
	case c == '{':
		return s.object(func([]byte) bool { return s.value(depth - 1) })
	case c == '[':
		return s.array(func() bool { return s.value(depth - 1) })
	}
	return json.Valid(s.bare())
}
