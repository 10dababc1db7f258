package a2a

import (
	"strings"

	"github.com/belayrun/belay/internal/httpapi"
)

// binding is a version of the protocol.
type binding int

const (
	v03 binding = iota
	v10
)

// versionHeader names the version that a client speaks.
const versionHeader = "A2A-Version"

// bindingOf returns the version that a request is in: the one that its URL is
// pinned to, else the header's; none means 0.3, which had no header. Where it
// fails, the error is in the words of 1.0.
func bindingOf(header, pinned string) (binding, error) {
	header = strings.TrimSpace(header)
	if header == "" {
		header = pinned
	}
	v, ok := v03, true
	switch {
	case header == "", header == "0.3", strings.HasPrefix(header, "0.3."):
	case header == "1.0", strings.HasPrefix(header, "1.0."):
		v = v10
	default:
		ok = false
	}
	if !ok || pinned != "" && pinned != v.String() {
		return v10, &fault{code: versionNotSupported, message: "The A2A version " + clip(header) + " is not supported here: send 1.0 or 0.3, as the URL has it.",
			data: map[string]any{"version": clip(header)}}
	}
	return v, nil
}

func (v binding) String() string {
	if v == v10 {
		return "1.0"
	}
	return "0.3"
}

// clip bounds what of a caller's text is said back.
func clip(s string) string {
	if len(s) > 40 {
		return strings.ToValidUTF8(s[:40], "") + "…"
	}
	return s
}

// method is what a call does: its result, or a stream.
type method struct {
	unary  func(d *door, c *call) (any, error)
	stream func(d *door, c *call) (*flow, error)
	stops  bool
}

// methods are those of each version; a name of the other version is unknown.
var methods = map[binding]map[string]method{
	v03: {
		"message/send":                        {unary: (*door).send},
		"message/stream":                      {stream: (*door).sendStreaming},
		"tasks/get":                           {unary: (*door).getTask},
		"tasks/cancel":                        {unary: (*door).cancelTask, stops: true},
		"tasks/resubscribe":                   {stream: (*door).subscribe},
		"tasks/pushNotificationConfig/set":    {unary: (*door).setPush},
		"tasks/pushNotificationConfig/get":    {unary: (*door).getPush},
		"tasks/pushNotificationConfig/list":   {unary: (*door).listPushes},
		"tasks/pushNotificationConfig/delete": {unary: (*door).deletePush},
		"agent/getAuthenticatedExtendedCard":  {unary: (*door).extendedCard},
	},
	v10: {
		"SendMessage":                      {unary: (*door).send},
		"SendStreamingMessage":             {stream: (*door).sendStreaming},
		"GetTask":                          {unary: (*door).getTask},
		"CancelTask":                       {unary: (*door).cancelTask, stops: true},
		"SubscribeToTask":                  {stream: (*door).subscribe},
		"ListTasks":                        {unary: (*door).listTasks},
		"CreateTaskPushNotificationConfig": {unary: (*door).setPush},
		"GetTaskPushNotificationConfig":    {unary: (*door).getPush},
		"ListTaskPushNotificationConfigs":  {unary: (*door).listPushes},
		"DeleteTaskPushNotificationConfig": {unary: (*door).deletePush},
		"GetExtendedAgentCard":             {unary: (*door).extendedCard},
	},
}

// states are the words of each version.
var states = map[binding]map[state]string{
	v03: {
		submitted: "submitted", working: "working", inputRequired: "input-required",
		completed: "completed", canceled: "canceled", failed: "failed",
	},
	v10: {
		submitted: "TASK_STATE_SUBMITTED", working: "TASK_STATE_WORKING", inputRequired: "TASK_STATE_INPUT_REQUIRED",
		completed: "TASK_STATE_COMPLETED", canceled: "TASK_STATE_CANCELED", failed: "TASK_STATE_FAILED",
	},
}

func (v binding) userRole() string {
	if v == v10 {
		return "ROLE_USER"
	}
	return "user"
}

func (v binding) agentRole() string {
	if v == v10 {
		return "ROLE_AGENT"
	}
	return "agent"
}

func invalid(param, format string, args ...any) error { return httpapi.Invalid(param, format, args...) }
