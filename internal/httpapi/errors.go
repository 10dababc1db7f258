package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi/apigen"
	"github.com/belayrun/belay/internal/turn"
)

// Error is an answer that is an error. A handler returns one where the kind of
// the error alone does not say what the caller should read.
type Error struct {
	Status     int
	Code       string
	Message    string        // for the caller
	Param      string        // the field that is wrong
	RetryAfter time.Duration // with 429 and 503, default 1 second
	NoRetry    bool          // sending it again would do it twice
	Fields     Fields
	Err        error // for the log
}

// Fields are what some errors say beside their message. Zero is left out.
type Fields struct {
	Conversation string
	Run          string
	Permission   string
	State        string
	Told         *bool
	SideEffects  *bool
	Retryable    *bool
}

func (e *Error) Error() string {
	if e.Err == nil {
		return e.Code + ": " + e.Message
	}
	return fmt.Sprintf("%s: %v", e.Code, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// NotFound returns err, and where it is agent.ErrNotFound the 404 of a code. An
// unknown thing and one of another project get the same answer.
func NotFound(err error, code, message string) error {
	if !errors.Is(err, agent.ErrNotFound) {
		return err
	}
	return &Error{Status: http.StatusNotFound, Code: code, Message: message, Err: err}
}

// Need returns the 403 of a principal that lacks a permission, nil if it holds it.
func Need(p agent.Principal, perm agent.Permission) error {
	if p.Can(perm) {
		return nil
	}
	return &Error{
		Status: http.StatusForbidden, Code: "permission_denied",
		Message: "This needs the permission " + string(perm) + ".", Fields: Fields{Permission: string(perm)},
	}
}

// Invalid is bad input: the field, in the caller's notation, and what is wrong.
func Invalid(param, format string, args ...any) error {
	return &agent.FieldError{Field: param, Message: fmt.Sprintf(format, args...)}
}

// Explain says what an error is on the wire. It is the only place that does.
func Explain(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if e := explainType(err); e != nil {
		e.Err = err
		return e
	}
	for _, k := range kinds {
		if errors.Is(err, k.is) {
			e := k.as
			e.Err = err
			return &e
		}
	}
	return &Error{Status: http.StatusInternalServerError, Code: "internal_error", Message: "The server failed at this request.", Err: err}
}

var kinds = []struct {
	is error
	as Error
}{
	{agent.ErrNotFound, Error{Status: http.StatusNotFound, Code: "not_found", Message: "There is no such thing."}},
	{agent.ErrForbidden, Error{Status: http.StatusForbidden, Code: "agent_session_forbidden", Message: "This conversation belongs to somebody else."}},
	{agent.ErrLastOwner, Error{Status: http.StatusConflict, Code: "last_owner", Message: "A project has one owner at least: make another one first."}},
	{agent.ErrBadCredentials, Error{Status: http.StatusUnauthorized, Code: "invalid_credentials", Message: "The name and the password do not go together."}},
	{agent.ErrNoProject, Error{Status: http.StatusForbidden, Code: "no_project", Message: "You are a member of no project: ask an owner to add you."}},
	{agent.ErrNotSignedIn, Error{Status: http.StatusUnauthorized, Code: "not_signed_in", Message: "Sign in first."}},
	{agent.ErrExists, Error{Status: http.StatusConflict, Code: "already_exists", Message: "There is one already."}},
	{agent.ErrNoSecretKey, Error{Status: http.StatusNotImplemented, Code: "secrets_not_configured", Message: "This server keeps no secrets: its operator must set BELAY_SECRET_KEY.", NoRetry: true}},
	{agent.ErrChanged, Error{Status: http.StatusConflict, Code: "changed", Message: "Somebody else changed it meanwhile. Read it and try again."}},
	{agent.ErrNoBackground, Error{Status: http.StatusBadRequest, Code: "agent_background_disabled", Param: "background", Message: "This agent takes no background runs."}},
	{agent.ErrKeyInline, Error{Status: http.StatusBadRequest, Code: "idempotency_key_sync_not_supported", Param: "Idempotency-Key", Message: "The header Idempotency-Key goes with background runs only."}},
	{agent.ErrRunLimit, Error{Status: http.StatusTooManyRequests, Code: "agent_run_concurrency_limit", RetryAfter: 5 * time.Second,
		Message: "The project has as many background runs queued and running as it may. Try again when some have ended."}},
	{agent.ErrDraining, Error{Status: http.StatusServiceUnavailable, Code: "draining", Message: "This node is shutting down. Try again: another one takes it."}},
	{agent.ErrUnavailable, Error{Status: http.StatusServiceUnavailable, Code: "unavailable", Message: "The database can't be reached now. Try again.", RetryAfter: 2 * time.Second}},
	{os.ErrDeadlineExceeded, Error{Status: http.StatusRequestTimeout, Code: "request_timeout", Message: "The request's body took too long to arrive."}},
}

func explainType(err error) *Error {
	if e, ok := errors.AsType[*agent.FieldError](err); ok {
		return &Error{Status: http.StatusBadRequest, Code: "invalid_request", Message: e.Error(), Param: e.Field}
	}
	if e, ok := errors.AsType[*agent.CallbackError](err); ok {
		return &Error{Status: http.StatusBadRequest, Code: "invalid_callback", Message: e.Error(), Param: e.Field}
	}
	if e, ok := errors.AsType[*agent.BusyError](err); ok {
		return busy(e)
	}
	if e, ok := errors.AsType[*agent.InUseError](err); ok {
		return &Error{Status: http.StatusConflict, Code: "tool_in_use", Message: "It is needed by " + strings.Join(e.By, ", ") + ": change those first."}
	}
	if _, ok := errors.AsType[*agent.UsedKeyError](err); ok {
		return &Error{
			Status: http.StatusConflict, Code: "idempotency_key_conflict", Param: "Idempotency-Key",
			Message: "This Idempotency-Key came with another request before. Send that again, or this one with another key.",
		}
	}
	if e, ok := errors.AsType[*agent.DecidedError](err); ok {
		return &Error{
			Status: http.StatusConflict, Code: "action_already_decided",
			Message: "This action has been decided already: it is " + string(e.Action.State) + ".",
			Fields:  Fields{Conversation: e.Action.Session, Run: e.Action.Turn, State: string(e.Action.State)},
		}
	}
	if e, ok := errors.AsType[*agent.ThrottledError](err); ok {
		return &Error{
			Status: http.StatusTooManyRequests, Code: "sign_in_throttled", RetryAfter: e.Over,
			Message: "Too many attempts to sign in have failed. Wait before you try again.",
		}
	}
	if e, ok := errors.AsType[*turn.NotRecordedError](err); ok {
		return &Error{
			Status: http.StatusServiceUnavailable, Code: "stop_not_recorded",
			Message: "The stop could not be recorded: the database can't be reached. Send it again.",
			Fields:  Fields{Told: &e.Told},
		}
	}
	if e, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return &Error{Status: http.StatusRequestEntityTooLarge, Code: "request_too_large", Message: fmt.Sprintf("A request's body may have %d bytes at most.", e.Limit)}
	}
	return nil
}

func busy(e *agent.BusyError) *Error {
	out := &Error{
		Status: http.StatusConflict, Code: "agent_run_conflict",
		Message: "The conversation already has a turn that is queued or runs. Wait for it, or stop it.",
		Fields:  Fields{Conversation: e.Session, Run: e.Turn},
	}
	if e.Waiting {
		out.Code, out.Message = "action_pending", "The conversation waits for a person to decide an open request."
	}
	return out
}

// Document is the error as a client reads it.
func (e *Error) Document() apigen.Error {
	return apigen.Error{Error: apigen.ErrorBody{
		Type: e.Code, Code: e.Code, Message: e.Message, Param: optional(e.Param),
		ConversationId: optional(e.Fields.Conversation), RunId: optional(e.Fields.Run),
		Permission: optional(e.Fields.Permission), State: optional(e.Fields.State),
		Told: e.Fields.Told, SideEffectsPossible: e.Fields.SideEffects, Retryable: e.Fields.Retryable,
	}}
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// write sends the error document. Clients retry some statuses by themselves:
// the headers say where that is right.
func (e *Error) write(w http.ResponseWriter) error {
	h := w.Header()
	switch {
	case e.Status == http.StatusTooManyRequests || e.Status == http.StatusServiceUnavailable:
		h.Set("X-Should-Retry", "true")
		seconds := max(1, int((e.RetryAfter+time.Second-1)/time.Second))
		h.Set("Retry-After", strconv.Itoa(seconds))
	case e.NoRetry || e.Status < 500 || e.Status == http.StatusBadGateway || e.Status == http.StatusGatewayTimeout:
		h.Set("X-Should-Retry", "false")
	}
	if e.Status == http.StatusRequestEntityTooLarge || e.Status == http.StatusRequestTimeout {
		h.Set("Connection", "close")
	}
	return WriteJSON(w, e.Status, e.Document())
}
