package openai

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// class is what the expression that splits text for o200k_base tells apart, as
// bits of a set.
type class uint8

const (
	other  class = 1 << iota // marks and punctuation
	upper                    // may stand in the first part of a word only
	lower                    // in the second only
	letter                   // in both: no case, or a mark
	digit
	space
	newline // \r and \n

	nothing   class = 0 // the end of the text
	anyLetter       = upper | lower | letter
)

var asciiClass = func() (t [utf8.RuneSelf]class) {
	for r := range rune(utf8.RuneSelf) {
		t[r] = classify(r)
	}
	return t
}()

func classify(r rune) class {
	switch {
	case r == '\r' || r == '\n':
		return newline
	case unicode.IsSpace(r):
		return space
	case unicode.In(r, unicode.Lu, unicode.Lt):
		return upper
	case unicode.Is(unicode.Ll, r):
		return lower
	case unicode.In(r, unicode.Lm, unicode.Lo, unicode.M):
		return letter
	case unicode.Is(unicode.N, r):
		return digit
	}
	return other
}

// at returns the class and length of the first character.
func at(s string) (class, int) {
	if s == "" {
		return nothing, 0
	}
	if s[0] < utf8.RuneSelf {
		return asciiClass[s[0]], 1
	}
	r, n := utf8.DecodeRuneInString(s)
	return classify(r), n
}

// run returns where the characters of a set that begin at i end.
func run(s string, i int, set class) int {
	for i < len(s) {
		c, n := asciiClass[s[i]&(utf8.RuneSelf-1)], 1
		if s[i] >= utf8.RuneSelf {
			c, n = at(s[i:])
		}
		if c&set == 0 {
			break
		}
		i += n
	}
	return i
}

// nextWord returns how many bytes of s, which is not empty, are its first word:
// the pieces within which o200k_base makes tokens. It is that vocabulary's
// regular expression by hand.
func nextWord(s string) int {
	first, n := at(s)
	if first&anyLetter != 0 {
		return letters(s, 0)
	}
	second, _ := at(s[n:])
	switch {
	case first&(newline|digit) == 0 && second&anyLetter != 0:
		return letters(s, n)
	case first == digit:
		return digits(s)
	case first == other:
		return marks(s, 0)
	case s[0] == ' ' && second == other:
		return marks(s, 1)
	}
	return blanks(s)
}

// letters ends a word of letters that begin at i: capitals, then small ones,
// then an English contraction.
func letters(s string, i int) int {
	i = run(s, i, upper|letter)
	i = run(s, i, lower|letter)
	if i < len(s) && s[i] == '\'' {
		i += contraction(s[i+1:])
	}
	return i
}

// contraction returns the length of an English ending with its apostrophe, 0 if
// there is none.
func contraction(s string) int {
	for _, c := range [...]string{"s", "t", "re", "ve", "m", "ll", "d"} {
		if len(s) >= len(c) && strings.EqualFold(s[:len(c)], c) {
			return 1 + len(c)
		}
	}
	return 0
}

// digits ends a number after three of them.
func digits(s string) (i int) {
	for range 3 {
		c, n := at(s[i:])
		if c != digit {
			break
		}
		i += n
	}
	return i
}

func marks(s string, i int) int {
	i = run(s, i, other)
	for i < len(s) && (s[i] == '\r' || s[i] == '\n' || s[i] == '/') {
		i++
	}
	return i
}

// blanks ends white space: after its last line end if it has one, else before
// the blank that belongs to the next word.
func blanks(s string) int {
	end := run(s, 0, space|newline)
	if nl := strings.LastIndexAny(s[:end], "\r\n"); nl >= 0 {
		return nl + 1
	}
	_, last := utf8.DecodeLastRuneInString(s[:end])
	if end == len(s) || end == last {
		return end
	}
	return end - last
}
