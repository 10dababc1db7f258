package turn_test

import (
	"context"
	"errors"
	"testing"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/turn"
	"github.com/belayrun/belay/internal/turn/turntest"
)

// addresses knows two names.
type addresses struct{}

func (addresses) CheckURL(ctx context.Context, url string) error {
	switch url {
	case "https://private.example/hook":
		return errors.New("private.example: the address is not allowed")
	case "https://slow.example/hook":
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

// The callback of a run is the request's, field by field, else the agent's; what
// can't be meant is refused by its field before anything is begun.
func TestABackgroundTurnsCallbackIsTheRequestsOrTheAgents(t *testing.T) {
	t.Parallel()
	const pub, own = "https://example.com/hook", "https://agent.example/hook"
	for name, c := range map[string]struct {
		submit turn.Submit
		agent  agent.Execution
		want   agent.Callback // as it is read back
		field  string         // refused for
	}{
		"none":                {turn.Submit{Background: true}, agent.Execution{}, agent.Callback{}, ""},
		"the request's":       {turn.Submit{Background: true, CallbackURL: pub, CallbackSecret: "s"}, agent.Execution{}, agent.Callback{URL: pub, Signed: true}, ""},
		"the agent's":         {turn.Submit{Background: true}, agent.Execution{CallbackURL: own, CallbackSecret: "s"}, agent.Callback{URL: own, Signed: true}, ""},
		"its address, ours":   {turn.Submit{Background: true, CallbackURL: pub}, agent.Execution{CallbackURL: own, CallbackSecret: "s"}, agent.Callback{URL: pub, Signed: true}, ""},
		"unsigned":            {turn.Submit{Background: true, CallbackURL: pub}, agent.Execution{}, agent.Callback{URL: pub}, ""},
		"does not resolve":    {turn.Submit{Background: true, CallbackURL: "https://slow.example/hook"}, agent.Execution{}, agent.Callback{URL: "https://slow.example/hook"}, ""},
		"not in background":   {turn.Submit{}, agent.Execution{CallbackURL: own}, agent.Callback{}, ""},
		"foreground":          {turn.Submit{CallbackURL: pub}, agent.Execution{}, agent.Callback{}, "callback_url"},
		"foreground, secret":  {turn.Submit{CallbackSecret: "s"}, agent.Execution{}, agent.Callback{}, "callback_secret"},
		"a secret for nobody": {turn.Submit{Background: true, CallbackSecret: "s"}, agent.Execution{}, agent.Callback{}, "callback_secret"},
		"private":             {turn.Submit{Background: true, CallbackURL: "https://private.example/hook"}, agent.Execution{}, agent.Callback{}, "callback_url"},
		"the agent's private": {turn.Submit{Background: true}, agent.Execution{CallbackURL: "https://private.example/hook"}, agent.Callback{}, "callback_url"},
		"another scheme":      {turn.Submit{Background: true, CallbackURL: "ftp://example.com"}, agent.Execution{}, agent.Callback{}, "callback_url"},
		"no host":             {turn.Submit{Background: true, CallbackURL: "https://"}, agent.Execution{}, agent.Callback{}, "callback_url"},
		"a password in it":    {turn.Submit{Background: true, CallbackURL: "https://u:p@example.com"}, agent.Execution{}, agent.Callback{}, "callback_url"},
		"a secret that is no base64": {turn.Submit{Background: true, CallbackURL: pub, CallbackSecret: "whsec_!"}, agent.Execution{}, agent.Callback{},
			"callback_secret"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, 1, func(t *testing.T, cl *cluster) {
				cl.model.Always(turntest.Answer("ok")...)
				s := c.submit
				s.Principal, s.Agent, s.Input = alice, "tools", "hello"
				tn, err := cl.nodes[0].Begin(t.Context(), s)
				if c.field != "" {
					if e, ok := errors.AsType[*agent.CallbackError](err); !ok || e.Field != c.field {
						t.Errorf("got %v, want a refusal for %s", err, c.field)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				got := agent.Callback{}
				if tn.Callback != nil {
					got = *tn.Callback
				}
				if got.URL != c.want.URL || got.Signed != c.want.Signed || got.Secret != "" {
					t.Errorf("callback %+v, want %+v", got, c.want)
				}
				if tn.Spec.Execution.CallbackSecret != "" {
					t.Error("the turn keeps the agent's secret")
				}
			}, withAgent(func(a *agent.Config) { a.Execution = c.agent }), func(cfg *turn.Config) { cfg.Addresses = addresses{} })
		})
	}
}
