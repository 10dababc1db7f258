package openai

import (
	"encoding/json"
	"reflect"
	"testing"
)

// usual are chunks that must take the short way.
var usual = []string{
	`{"id":"c","object":"chat.completion.chunk","created":1753000000,"model":"m","service_tier":null,"choices":[{"index":0,"delta":{"content":" wörd"},"logprobs":null,"finish_reason":null}],"usage":null,"x":[1,2.5e3,{"a":true}]}`,
	`{"choices":[{"delta":{"role":"assistant","content":"","refusal":null,"tool_calls":null}}]}`,
	` { "choices" : [ { "index" : 0 , "delta" : { "content" : "a\n\"b\" \u00e9" } } ] } `,
	`{"choices":[{"index":0,"delta":{"content":"\ud83e"}}]}`,
	`{"choices":[{"index":0,"delta":{"reasoning_content":"hm","reasoning":"hm"}}]}`,
	`{"choices":[],"error":null}`,
	`{}`,
}

// unusual are those that must not.
var unusual = []string{
	`{"choices":[{"index":1,"delta":{"content":"a"}}]}`,
	`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`,
	`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{"}}]}}]}`,
	`{"choices":[],"usage":{"prompt_tokens":1}}`,
	`{"error":{"message":"x"}}`,
	`{"Choices":[{"index":0,"delta":{"Content":"a"}}]}`,
	`{"choices":[{"delta":{"content":"a","content":"b"}}]}`,
	`{"choices":[{"delta":{"content":7}}]}`,
	`{"choices":null}`,
	``, `[`, `{`, `{}x`, `{"a":01}`, `{"a":nul}`, `{"a":"\x"}`, "{\"a\":\"\n\"}", `{"a":1,}`, `{"a"}`, `{"choices":[{"delta":{"content":"a}`,
}

func TestSkimTakesUsualChunksOnly(t *testing.T) {
	t.Parallel()
	for _, data := range usual {
		if !agrees(t, data) {
			t.Errorf("refuses %s", data)
		}
	}
	for _, data := range unusual {
		if agrees(t, data) {
			t.Errorf("accepts %s", data)
		}
	}
}

// FuzzSkim: what skim accepts, encoding/json reads the same.
func FuzzSkim(f *testing.F) {
	for _, data := range append(usual, unusual...) {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data string) { agrees(t, data) })
}

func agrees(t *testing.T, data string) bool {
	var got, want chunk
	if !got.skim([]byte(data)) {
		return false
	}
	if err := json.Unmarshal([]byte(data), &want); err != nil {
		t.Errorf("accepts %q: %v", data, err)
	}
	want.Error = nil // null
	if len(got.Choices) == 0 {
		got.Choices, want.Choices = nil, nil
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%q is read as %+v, want %+v", data, got, want)
	}
	return true
}
