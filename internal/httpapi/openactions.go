package httpapi

import (
	"encoding/json"
	"slices"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi/apigen"
)

// OpenActions are the requests that a turn waits for a person to decide, as far
// as See was told of its events.
type OpenActions []apigen.RequiredAction

// See takes an event of the turn for what it says of its requests.
func (a *OpenActions) See(b agent.Body) {
	switch b := b.(type) {
	case agent.ActionRequested:
		arguments := b.Arguments
		if len(arguments) == 0 {
			arguments = json.RawMessage("null")
		}
		*a = append(*a, apigen.RequiredAction{Id: b.ActionID, Type: b.Type, CallId: b.CallID, Name: b.Name, Arguments: arguments})
	case agent.ActionDecided:
		*a = slices.DeleteFunc(slices.Clone(*a), func(x apigen.RequiredAction) bool { return x.Id == b.ActionID })
	}
}
