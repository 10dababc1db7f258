package openai

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/belayrun/belay/internal/agent"
)

var errArguments = errors.New("arguments that are not JSON")

// failure says what the caller is told about err, which ended the call. The
// caller's own end comes before all else: what fails after it fails for it.
func (c *call) failure(err error) error {
	if c.caller.Err() != nil {
		return context.Cause(c.caller)
	}
	if e, ok := errors.AsType[*agent.ModelError](err); ok {
		e.Retryable = e.Retryable && !c.began
		return e
	}
	e := &agent.ModelError{Code: agent.CodeModelError, Status: c.status, Err: err}
	cause := context.Cause(c.ctx)
	switch {
	case errors.Is(cause, errIdle):
		e.Code, e.Retryable = agent.CodeModelIdle, !c.began
		e.Message = fmt.Sprintf("the model sent nothing for %v", c.client.model.IdleTimeout())
	case errors.Is(cause, errTimeout):
		e.Message = fmt.Sprintf("the model did not finish within %v", c.client.model.Timeout())
	case !c.sent:
		e.Message = "the model does not support a setting of this agent"
	case c.status >= 400:
		c.refusal(e)
	case errors.Is(err, errNoStream):
		e.Message = "the model's server did not answer with a stream"
	case c.status == 0:
		e.Message, e.Retryable = "the model could not be reached", mayPass(err)
	case errors.Is(err, errLineTooLong):
		e.Message = "the model's answer could not be read"
	default:
		e.Message, e.Retryable = "the model's answer broke off", !c.began
	}
	return e
}

// refusal fills in what an HTTP status says. The provider's own words stay in
// Err: they may quote keys, addresses and accounts.
func (c *call) refusal(e *agent.ModelError) {
	e.Retryable = transient(c.status)
	e.RetryAfter = retryAfter(c.header, time.Now())
	switch {
	case c.status == http.StatusUnauthorized:
		e.Code, e.Message = agent.CodeModelAuth, "the model's provider did not accept the API key"
	case c.status == http.StatusForbidden:
		e.Code, e.Message = agent.CodeModelDenied, "the model's provider does not permit this"
	case c.status == http.StatusTooManyRequests:
		e.Message = "the model's provider is limiting requests"
	case c.status >= 500 || c.status == http.StatusRequestTimeout:
		e.Message = fmt.Sprintf("the model's provider failed (status %d)", c.status)
	case c.status == http.StatusNotFound:
		e.Message = "the provider does not know this model"
	case strings.Contains(e.Err.Error(), "context_length") || strings.Contains(e.Err.Error(), "maximum context length"):
		e.Message = "the conversation is too long for this model"
	default:
		e.Message = fmt.Sprintf("the model's provider refused the request (status %d)", c.status)
	}
}

// transient says whether a status may be another the next time.
func transient(status int) bool {
	return status == http.StatusTooManyRequests || status == http.StatusRequestTimeout || status >= 500
}

// mayPass says whether what kept a request from being answered may be gone the
// next time: anything but a wrong name or a wrong certificate.
func mayPass(err error) bool {
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return !dns.IsNotFound
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return false
	}
	_, ok := errors.AsType[tls.RecordHeaderError](err)
	return !ok
}

// retryAfter reads what a provider asks for: milliseconds in retry-after-ms, or
// seconds or a date in Retry-After. 0: nothing that can be read.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if d := positive(h.Get("Retry-After-Ms"), time.Millisecond); d > 0 {
		return d
	}
	v := h.Get("Retry-After")
	if d := positive(v, time.Second); d > 0 {
		return d
	}
	if t, err := http.ParseTime(v); err == nil {
		return max(t.Sub(now), 0)
	}
	return 0
}

func positive(s string, unit time.Duration) time.Duration {
	f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || !(f > 0) || f > 1e9 {
		return 0
	}
	return time.Duration(f * float64(unit))
}

// streamError is an error that a provider sends within a stream that it began
// with status 200. It may pass if its code is that of a status that may, or it
// has a name that providers give to overload.
func streamError(doc json.RawMessage) error {
	e := &agent.ModelError{
		Code: agent.CodeModelError, Message: "the model's provider reported an error",
		Err: fmt.Errorf("error in the stream: %.1024s", doc),
	}
	var d struct {
		Code json.RawMessage `json:"code"`
		Type string          `json:"type"`
	}
	if json.Unmarshal(doc, &d) != nil {
		return e
	}
	code := strings.Trim(string(d.Code), `"`)
	if status, err := strconv.Atoi(code); err == nil {
		e.Status, e.Retryable = status, transient(status)
		return e
	}
	for _, name := range []string{"server_error", "overloaded", "rate_limit", "api_error"} {
		e.Retryable = e.Retryable || strings.Contains(d.Type, name) || strings.Contains(code, name)
	}
	return e
}

func badCall(err error) error {
	e := &agent.ModelError{Code: agent.CodeModelError, Message: "the model asked for a tool in a way that can't be read", Err: err}
	if errors.Is(err, errArguments) {
		e.Message = "the model asked for a tool with arguments that are not JSON"
	}
	return e
}
