package agent

import (
	"context"
	"time"
)

// Tool is something that a model may call, as an agent holds it.
type Tool struct {
	Spec      ToolSpec
	Source    string        // key of the ToolRef that gave it
	Approval  bool          // a person must agree before each call
	Abortable bool          // Call ends promptly when its context does
	Timeout   time.Duration // of one call

	// Call runs the tool. It returns only after all that it started is dead;
	// where it can't tell, its error wraps ErrUnconfirmed. Any other error is for
	// the model to read. A tool that is not Abortable gets a context that a stop
	// does not end.
	Call func(ctx context.Context, arguments []byte) (string, error)
}
