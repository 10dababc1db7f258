package httpapi

import (
	"encoding/json"
	"fmt"
	"strings"
)

// TextPart is a part of a message, in OpenAI's dialects.
type TextPart struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// Absent reports whether a field that is kept raw was not given: null is as if it
// was not there.
func Absent(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// ReadContent reads the content of a message: a string, or parts of one type,
// which are lines. at is what it is called in errors; raw is not empty.
func ReadContent(raw json.RawMessage, at, kind string) (string, error) {
	if raw[0] == '"' {
		var text string
		return text, json.Unmarshal(raw, &text)
	}
	if raw[0] != '[' {
		return "", Invalid(at, "must be a string or a list of %s parts", kind)
	}
	var list []json.RawMessage
	if err := Decode(raw, at, &list); err != nil {
		return "", err
	}
	texts := make([]string, len(list))
	for i, b := range list {
		at := fmt.Sprintf("%s[%d]", at, i)
		var is struct{ Type any }
		if json.Unmarshal(b, &is) != nil || is.Type != kind {
			return "", Invalid(at+".type", "must be %s", kind)
		}
		var p TextPart
		if err := Decode(b, at, &p); err != nil {
			return "", err
		}
		texts[i] = p.Text
	}
	return strings.Join(texts, "\n"), nil
}
