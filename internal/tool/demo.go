package tool

import (
	"context"
	"fmt"
	"time"
)

// Seconds is what the waiting tools of Demo take.
type Seconds struct {
	Seconds float64 `json:"seconds" jsonschema:"how long to wait, at most 600"`
}

func (s Seconds) duration() (time.Duration, error) {
	if s.Seconds < 0 || s.Seconds > 600 {
		return 0, fmt.Errorf("seconds must be between 0 and 600, not %g", s.Seconds)
	}
	return time.Duration(s.Seconds * float64(time.Second)), nil
}

// Pair is what Demo's add takes.
type Pair struct {
	A float64 `json:"a" jsonschema:"first number"`
	B float64 `json:"b" jsonschema:"second number"`
}

// Demo is a handful of functions that show what a stop does to tools: wait is
// aborted, stubborn is not and holds its turn; clock and add answer at once.
func Demo() Functions {
	return Functions{
		New("wait", "Waits for a number of seconds. A stop aborts it.", wait),
		New("stubborn", "Works for a number of seconds and can't be interrupted.", stubborn, NotAbortable(), Timeout(time.Minute)),
		New("clock", "Tells the time of day in UTC.", func(context.Context, struct{}) (string, error) {
			return time.Now().UTC().Format(time.RFC1123), nil
		}),
		New("add", "Adds two numbers.", func(_ context.Context, p Pair) (float64, error) { return p.A + p.B, nil }),
	}
}

func wait(ctx context.Context, s Seconds) (string, error) {
	d, err := s.duration()
	if err != nil {
		return "", err
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return fmt.Sprintf("waited %g seconds", s.Seconds), nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// stubborn stands for what can't be taken back once begun. Only its own limit
// ends it: the engine gives it a context without the stop.
func stubborn(ctx context.Context, s Seconds) (string, error) {
	if _, err := wait(ctx, s); err != nil {
		return "", err
	}
	return fmt.Sprintf("worked for %g seconds", s.Seconds), nil
}
