package agent

import (
	"context"
	"time"
)

// MaxToolOutput bounds what a model reads of one call, in bytes: what a tool
// gives beyond it is cut, with a note that says how much.
const MaxToolOutput = 80_000

// Tool is something that a model may call, as an agent holds it.
type Tool struct {
	Spec      ToolSpec
	Kind      string        // source of the ToolRef that gave it, one of Sources; empty: the agent has no such tool
	Source    string        // key of that ToolRef
	Asks      ActionType    // a person must agree before each call, or answers it; empty: nobody is asked
	Abortable bool          // Call ends promptly when its context does
	Timeout   time.Duration // of one call

	// Check, where it is not nil, says what is wrong with the arguments of a call,
	// for the model to read. It is asked before a person is and before the call
	// starts; it does no input or output, and may be called from many goroutines.
	Check func(arguments []byte) error

	// Call runs the tool. It returns only after all that it started is dead;
	// where it can't tell, its error wraps ErrUnconfirmed. Any other error is for
	// the model to read. A tool that is not Abortable gets a context that a stop
	// does not end.
	// Call is nil where a person answers.
	Call func(ctx context.Context, arguments []byte) (string, error)

	// Stream, where it is not nil, is called in place of Call; what it gives emit
	// is shown while the tool runs, and is no part of its result. emit may be
	// called from one goroutine at a time, and not after Stream has returned.
	Stream func(ctx context.Context, arguments []byte, emit func(text string)) (string, error)
}
