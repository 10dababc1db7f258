package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"
)

// WriteJSON answers with a JSON document. Its error means that the client has
// not got it; there is nothing more to send then.
func WriteJSON(w http.ResponseWriter, status int, v any) error {
	b, err := AppendJSON(nil, v)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(b)+1))
	if rec, ok := w.(*recorder); ok && rec.timeout > 0 {
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(rec.timeout))
	}
	w.WriteHeader(status)
	_, err = w.Write(append(b, '\n'))
	return err
}

var encoders = sync.Pool{New: func() any {
	e := &encoder{}
	e.json = json.NewEncoder(&e.buf)
	e.json.SetEscapeHTML(false)
	return e
}}

type encoder struct {
	buf  bytes.Buffer
	json *json.Encoder
}

// AppendJSON appends v in JSON, without the escapes that only HTML needs.
func AppendJSON(dst []byte, v any) ([]byte, error) {
	e := encoders.Get().(*encoder)
	e.buf.Reset()
	if err := e.json.Encode(v); err != nil {
		return dst, fmt.Errorf("encode answer: %w", err) // an encoder that failed is not used again
	}
	b := e.buf.Bytes()
	dst = append(dst, b[:len(b)-1]...)
	if e.buf.Cap() <= maxPooled {
		encoders.Put(e)
	}
	return dst, nil
}

const hex = "0123456789abcdef"

// AppendString appends s as a JSON string; invalid UTF-8 becomes U+FFFD, as
// encoding/json has it.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); {
		b := s[i]
		if b >= ' ' && b != '"' && b != '\\' && b < utf8.RuneSelf {
			i++
			continue
		}
		n := 1
		if b >= utf8.RuneSelf {
			var r rune
			if r, n = utf8.DecodeRuneInString(s[i:]); !special(r, n) {
				i += n
				continue
			}
		}
		dst = append(dst, s[from:i]...)
		dst = appendEscape(dst, s[i:i+n])
		i += n
		from = i
	}
	return append(append(dst, s[from:]...), '"')
}

// special reports whether a rune must not be written as it is: it is no rune, or
// one that some line readers take for the end of a line.
func special(r rune, n int) bool {
	return r == utf8.RuneError && n == 1 || r == '\u2028' || r == '\u2029' || r == '\u0085'
}

func appendEscape(dst []byte, s string) []byte {
	switch s {
	case `"`, `\`:
		return append(dst, '\\', s[0])
	case "\n":
		return append(dst, '\\', 'n')
	case "\r":
		return append(dst, '\\', 'r')
	case "\t":
		return append(dst, '\\', 't')
	}
	r, _ := utf8.DecodeRuneInString(s)
	return append(dst, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
}
