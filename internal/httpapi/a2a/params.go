package a2a

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/belayrun/belay/internal/agent"
)

// object is a JSON object of the caller's. Names that nobody asks for are
// ignored; null is as if the name was not there. 1.0 may write a name in snake
// case: historyLength is history_length too.
type object struct {
	m     map[string]json.RawMessage
	path  string // of the object in errors, with a dot at its end; empty for the params
	snake bool
}

func newObject(raw json.RawMessage, snake bool) (object, error) {
	o := object{snake: snake}
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return o, nil
	}
	if json.Unmarshal(raw, &o.m) != nil {
		return o, invalid("params", "must be an object")
	}
	return o, nil
}

// get returns a value, nil where there is none.
func (o object) get(name string) json.RawMessage {
	v, ok := o.m[name]
	if !ok && o.snake {
		v = o.m[snakeCase(name)]
	}
	if v = bytes.TrimSpace(v); string(v) == "null" {
		return nil
	}
	return v
}

func snakeCase(name string) string {
	var b strings.Builder
	for _, r := range name {
		if r >= 'A' && r <= 'Z' {
			b.WriteByte('_')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

func (o object) has(name string) bool { return o.get(name) != nil }

func (o object) wrong(name, want string) error {
	return &agent.FieldError{Field: o.path + name, Message: want}
}

// text returns a string, empty where there is none.
func (o object) text(name string) (string, error) {
	v := o.get(name)
	if v == nil {
		return "", nil
	}
	var s string
	if json.Unmarshal(v, &s) != nil {
		return "", o.wrong(name, "must be a string")
	}
	return s, nil
}

// need returns a string that must be there.
func (o object) need(name string) (string, error) {
	s, err := o.text(name)
	if err == nil && s == "" {
		err = o.wrong(name, "is required")
	}
	return s, err
}

func (o object) flag(name string) (bool, error) {
	v := o.get(name)
	if v == nil {
		return false, nil
	}
	var b bool
	if json.Unmarshal(v, &b) != nil {
		return false, o.wrong(name, "must be true or false")
	}
	return b, nil
}

// count returns a whole number from lo on, nil where there is none. 1.0 may
// write it as a string, as Protobuf's JSON does.
func (o object) count(name string, lo, hi int) (*int, error) {
	v := o.get(name)
	if v == nil {
		return nil, nil
	}
	s := string(v)
	if o.snake {
		s = strings.Trim(s, `"`)
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < lo || n > hi {
		want := "must be a whole number of " + strconv.Itoa(lo) + " or more"
		if hi != math.MaxInt32 {
			want = "must be a whole number from " + strconv.Itoa(lo) + " to " + strconv.Itoa(hi)
		}
		return nil, o.wrong(name, want)
	}
	return &n, nil
}

// object returns an object, an empty one where there is none.
func (o object) object(name string) (object, error) {
	in := object{path: o.path + name + ".", snake: o.snake}
	v := o.get(name)
	if v == nil {
		return in, nil
	}
	if json.Unmarshal(v, &in.m) != nil {
		return in, o.wrong(name, "must be an object")
	}
	return in, nil
}

// list returns the objects of a list.
func (o object) list(name string) ([]object, error) {
	var raw []json.RawMessage
	v := o.get(name)
	if v != nil && json.Unmarshal(v, &raw) != nil {
		return nil, o.wrong(name, "must be a list")
	}
	out := make([]object, len(raw))
	for i, b := range raw {
		at := name + "[" + strconv.Itoa(i) + "]"
		out[i] = object{path: o.path + at + ".", snake: o.snake}
		if json.Unmarshal(b, &out[i].m) != nil || out[i].m == nil {
			return nil, o.wrong(at, "must be an object")
		}
	}
	return out, nil
}

// texts returns a list of strings.
func (o object) texts(name string) ([]string, error) {
	var out []string
	if v := o.get(name); v != nil && json.Unmarshal(v, &out) != nil {
		return nil, o.wrong(name, "must be a list of strings")
	}
	return out, nil
}
