package a2a

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi"
)

// The codes of errors.
const (
	parseError     = -32700
	invalidRequest = -32600
	unknownMethod  = -32601
	invalidParams  = -32602
	internalError  = -32603

	taskNotFound           = -32001
	taskNotCancelable      = -32002 // 1.0; 0.3 says unsupportedOperation
	pushNotSupported       = -32003
	unsupportedOperation   = -32004
	contentNotSupported    = -32005
	extendedCardNotOffered = -32007
	versionNotSupported    = -32009
	notPermitted           = -32010 // ours
)

// reasons are what 1.0 calls the protocol's own errors; others are called by
// their code in our API.
var reasons = map[int]string{
	taskNotFound: "TASK_NOT_FOUND", taskNotCancelable: "TASK_NOT_CANCELABLE", pushNotSupported: "PUSH_NOTIFICATION_NOT_SUPPORTED",
	unsupportedOperation: "UNSUPPORTED_OPERATION", contentNotSupported: "CONTENT_TYPE_NOT_SUPPORTED",
	extendedCardNotOffered: "EXTENDED_AGENT_CARD_NOT_CONFIGURED", versionNotSupported: "VERSION_NOT_SUPPORTED",
	parseError: "PARSE_ERROR", invalidRequest: "INVALID_REQUEST", unknownMethod: "METHOD_NOT_FOUND", invalidParams: "INVALID_PARAMS",
	internalError: "INTERNAL_ERROR", notPermitted: "NOT_PERMITTED",
}

// fault is a JSON-RPC error. Its data is an object in 0.3, and the metadata of an
// ErrorInfo in 1.0, where all values are text.
type fault struct {
	code    int
	message string
	data    map[string]any // of string, bool and []string
	err     error          // for the log
}

func (f *fault) Error() string { return f.message }

func (f *fault) Unwrap() error { return f.err }

// noTask is the answer about a task that is not there, or not the caller's: who
// may not read it can't tell which.
func noTask(err error) error {
	if errors.Is(err, agent.ErrNotFound) || errors.Is(err, agent.ErrForbidden) {
		return &fault{code: taskNotFound, message: "The task is not found.", err: err}
	}
	return err
}

// faultOf says what an error is in JSON-RPC.
func faultOf(err error) *fault {
	if f, ok := errors.AsType[*fault](err); ok {
		return f
	}
	return explained(httpapi.Explain(err), err)
}

func explained(e *httpapi.Error, err error) *fault {
	f := &fault{code: internalError, message: e.Message, data: map[string]any{"code": e.Code}, err: err}
	for name, v := range map[string]string{
		"param": e.Param, "conversation_id": e.Fields.Conversation, "run_id": e.Fields.Run, "permission": e.Fields.Permission, "state": e.Fields.State,
	} {
		if v != "" {
			f.data[name] = v
		}
	}
	if e.Fields.Told != nil {
		f.data["told"] = *e.Fields.Told
	}
	switch e.Status {
	case http.StatusBadRequest:
		f.code = invalidParams
	case http.StatusUnauthorized, http.StatusRequestEntityTooLarge, http.StatusRequestTimeout:
		f.code = invalidRequest
	case http.StatusForbidden:
		f.code = notPermitted
	}
	return f
}

type wireError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

type errorInfo struct {
	Type     string            `json:"@type"`
	Reason   string            `json:"reason"`
	Domain   string            `json:"domain"`
	Metadata map[string]string `json:"metadata"`
}

// wire returns the error in the words of a version.
func (f *fault) wire(v binding) *wireError {
	out := &wireError{Code: f.code, Message: f.message}
	if v == v03 {
		if len(f.data) > 0 {
			out.Data = f.data
		}
		return out
	}
	info := errorInfo{Type: "type.googleapis.com/google.rpc.ErrorInfo", Reason: reasons[f.code], Domain: "a2a-protocol.org", Metadata: map[string]string{}}
	for _, name := range slices.Sorted(maps.Keys(f.data)) {
		switch x := f.data[name].(type) {
		case string:
			info.Metadata[name] = x
		case []string:
			info.Metadata[name] = strings.Join(x, ",")
		case bool:
			info.Metadata[name] = map[bool]string{true: "true", false: "false"}[x]
		}
	}
	out.Data = []errorInfo{info}
	return out
}
