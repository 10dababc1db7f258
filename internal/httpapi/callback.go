package httpapi

import (
	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi/apigen"
)

// RunCallback is a run's callback as the API shows it, nil for none.
func RunCallback(t agent.Turn) *apigen.RunCallback {
	c := t.Callback
	if c == nil {
		return nil
	}
	return &apigen.RunCallback{Url: c.URL, Status: c.Status, Attempts: c.Attempts, Signed: c.Signed}
}
