package openapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"
)

const (
	maxAnswer      = 1 << 20
	maxErrorAnswer = 4000
)

// caller calls one operation.
type caller struct {
	client *http.Client
	base   string
	prove  func(*http.Request)
	op     *operation
}

// call is agent.Tool's Call. The request's connection is closed when ctx ends.
func (c caller) call(ctx context.Context, arguments []byte) (string, error) {
	if len(bytes.TrimSpace(arguments)) == 0 {
		arguments = []byte("{}")
	}
	var loose any
	if err := json.Unmarshal(arguments, &loose); err != nil {
		return "", fmt.Errorf("the arguments are not JSON: %w", err)
	}
	if err := c.op.arguments.Validate(loose); err != nil {
		return "", fmt.Errorf("the arguments do not match the tool's schema: %w", err)
	}
	req, err := c.request(ctx, arguments)
	if err != nil {
		return "", err
	}
	res, err := c.client.Do(req)
	if err != nil {
		return "", bare(err)
	}
	defer res.Body.Close()
	return answer(res)
}

func (c caller) request(ctx context.Context, arguments []byte) (*http.Request, error) {
	var given map[string]json.RawMessage
	if err := json.Unmarshal(arguments, &given); err != nil {
		return nil, errors.New("the arguments are no JSON object")
	}
	at, err := c.op.url(c.base, given)
	if err != nil {
		return nil, err
	}
	var in io.Reader
	if c.op.body != nil {
		if raw, ok := given[c.op.body.argument]; ok {
			if in, err = c.op.body.reader(raw); err != nil {
				return nil, err
			}
		}
	}
	req, err := http.NewRequestWithContext(ctx, c.op.method, at, in)
	if err != nil {
		return nil, bare(err)
	}
	if in != nil {
		req.Header.Set("Content-Type", c.op.body.media)
	}
	req.Header.Set("Accept", "application/json, text/*;q=0.9, */*;q=0.5")
	req.Header.Set("User-Agent", "belay")
	if err := c.op.headers(req, given); err != nil {
		return nil, err
	}
	c.prove(req)
	return req, nil
}

// reader is the body that an argument is sent as.
func (b *body) reader(raw json.RawMessage) (io.Reader, error) {
	switch {
	case b.form:
		v, err := decode(raw)
		fields, ok := v.(map[string]any)
		if err != nil || !ok {
			return nil, fmt.Errorf("%s: must be an object", b.argument)
		}
		form := url.Values{}
		for name, value := range fields {
			addForm(form, name, value)
		}
		return strings.NewReader(form.Encode()), nil
	case b.text:
		var s string
		if err := json.Unmarshal(raw, &s); err != nil {
			return nil, fmt.Errorf("%s: must be a text", b.argument)
		}
		return strings.NewReader(s), nil
	}
	return bytes.NewReader(raw), nil
}

// answer is what a model reads of a response. One that is no success is an error.
func answer(res *http.Response) (string, error) {
	text, err := body1MiB(res)
	if err != nil {
		return "", fmt.Errorf("the answer broke off: %w", bare(err))
	}
	if res.StatusCode < 200 || res.StatusCode > 299 {
		if text == "" {
			return "", errors.New(status(res.StatusCode))
		}
		return "", fmt.Errorf("%s: %s", status(res.StatusCode), cut(text, maxErrorAnswer))
	}
	if text == "" {
		return status(res.StatusCode), nil
	}
	return text, nil
}

// body1MiB reads so much of a body; of what is no text it says only what it is.
func body1MiB(res *http.Response) (string, error) {
	b, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err != nil {
		return "", err
	}
	more := len(b) > maxAnswer
	b = b[:min(len(b), maxAnswer)]
	for n := 0; more && n < utf8.UTFMax && !utf8.Valid(b); n++ {
		b = b[:len(b)-1] // half a letter
	}
	switch {
	case !utf8.Valid(b) && more:
		return fmt.Sprintf("[more than %d bytes of %s]", maxAnswer, kind(res)), nil
	case !utf8.Valid(b):
		return fmt.Sprintf("[%d bytes of %s]", len(b), kind(res)), nil
	case more:
		return string(b) + "\n[the answer is longer than 1 MiB; the rest was not read]", nil
	}
	return string(b), nil
}

func kind(res *http.Response) string {
	if t := res.Header.Get("Content-Type"); t != "" {
		return cut(t, 100)
	}
	return "data"
}

func status(code int) string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", code, http.StatusText(code)))
}

// bare is an error without the addresses that it happened at, the resolver's
// among them: they are not the model's business, and arguments are part of them.
func bare(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return errors.New("the server's name does not resolve")
	}
	if o, ok := errors.AsType[*net.OpError](err); ok {
		return fmt.Errorf("the server can't be reached: %w", o.Err)
	}
	return err
}
