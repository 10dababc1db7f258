package tool

import (
	"context"
	"encoding/json"

	"github.com/belayrun/belay/internal/agent"
)

// Questions gives ask_user: a call of it pauses the turn until a person answers,
// and the answer is its result.
type Questions struct{}

// Open implements Source. The tool has no Call: who answers is decided through
// its action, and it is never asked for approval first.
func (Questions) Open(_ context.Context, _ agent.Session, ref agent.ToolRef) ([]agent.Tool, error) {
	t := New("ask_user", "Asks the user a question and waits for the answer, however long that takes. "+
		"Ask only what you can't find out yourself.", func(context.Context, agent.Question) (string, error) { return "", nil })
	matches := t.Check
	t.Asks, t.Call = agent.ActionQuestion, nil
	t.Check = func(arguments []byte) error {
		if err := matches(arguments); err != nil {
			return err
		}
		var q agent.Question
		if err := json.Unmarshal(arguments, &q); err != nil {
			return err
		}
		return q.Validate()
	}
	return choose([]agent.Tool{t}, ref.Names, ref.Source)
}
