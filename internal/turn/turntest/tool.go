package turntest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/belayrun/belay/internal/agent"
)

// Tool is a scripted tool that counts. The engine is given its agent.Tool, which
// a test may change before (Approval, Timeout, Abortable).
type Tool struct {
	agent.Tool

	mu     sync.Mutex
	starts [][]byte
	ends   int
}

// NewTool returns an abortable tool that runs f.
func NewTool(name string, f func(ctx context.Context, arguments []byte) (string, error)) *Tool {
	t := &Tool{Tool: agent.Tool{
		Spec:      agent.ToolSpec{Name: name, Description: "scripted", Parameters: json.RawMessage(`{"type":"object"}`)},
		Kind:      agent.SourceFunction,
		Source:    "scripted",
		Abortable: true,
		Timeout:   agent.DefaultToolTimeout,
	}}
	t.Call = func(ctx context.Context, arguments []byte) (string, error) {
		t.begin(arguments)
		defer t.end()
		return f(ctx, arguments)
	}
	return t
}

// InstantTool answers output at once.
func InstantTool(name, output string) *Tool {
	return NewTool(name, func(context.Context, []byte) (string, error) { return output, nil })
}

// SlowTool answers "slept" after d, or ends with the context's cause at once.
func SlowTool(name string, d time.Duration) *Tool {
	return NewTool(name, func(ctx context.Context, _ []byte) (string, error) {
		if err := Pause(d).wait(ctx); err != nil {
			return "", err
		}
		return "slept", nil
	})
}

// DeafTool is not abortable: it answers "slept" after d, whatever its context says.
func DeafTool(name string, d time.Duration) *Tool {
	t := NewTool(name, func(context.Context, []byte) (string, error) {
		time.Sleep(d)
		return "slept", nil
	})
	t.Abortable = false
	return t
}

// UnconfirmedTool runs until its context ends and then can't say whether what it
// started is dead.
func UnconfirmedTool(name string) *Tool {
	return NewTool(name, func(ctx context.Context, _ []byte) (string, error) {
		<-ctx.Done()
		return "", fmt.Errorf("%w: %w", agent.ErrUnconfirmed, context.Cause(ctx))
	})
}

// FailingTool ends with err.
func FailingTool(name string, err error) *Tool {
	return NewTool(name, func(context.Context, []byte) (string, error) { return "", err })
}

// PanickingTool panics.
func PanickingTool(name string) *Tool {
	return NewTool(name, func(context.Context, []byte) (string, error) { panic("tool " + name + " panics") })
}

func (t *Tool) begin(arguments []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.starts = append(t.starts, bytes.Clone(arguments))
}

func (t *Tool) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ends++
}

// Starts returns the arguments of each start so far.
func (t *Tool) Starts() [][]byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.starts)
}

// Started counts the calls that began.
func (t *Tool) Started() int { return len(t.Starts()) }

// Ended counts the calls that returned or panicked.
func (t *Tool) Ended() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ends
}
