package turn

import (
	"context"
	"errors"
	"slices"

	"github.com/belayrun/belay/internal/agent"
)

// Decide answers an action; a turn that waits for nothing more goes on, on any
// node. Approvals need agent.approve, questions the session. An approval that
// outlived the stop of its turn, because who stopped it may not approve, begins a
// new turn with that call as its first step.
//
// Errors: agent.ErrNotFound, agent.ErrForbidden, agent.DecidedError with the
// decision that stands (an equal one is no error), agent.BusyError where such an
// approval meets another turn (the action stays open), agent.FieldError for a word
// that does not go with the action, an answer that is none of the options or
// arguments that the tool would not take, agent.ErrUnavailable.
func (e *Engine) Decide(ctx context.Context, p agent.Principal, d agent.Decision) (agent.Action, error) {
	a, s, err := e.store.Action(ctx, d.Action)
	if err != nil {
		return agent.Action{}, err
	}
	if err := mayDecide(p, a, s); err != nil {
		return agent.Action{}, err
	}
	if d.Type != "" && d.Type != a.Type {
		return agent.Action{}, &agent.FieldError{Field: "decision", Message: wordsFor[a.Type]}
	}
	if err := e.checkDecision(ctx, a, s, d); err != nil {
		return agent.Action{}, err
	}
	d.By, d.Address = p.ID, p.Address
	return e.decide(ctx, d)
}

// decide writes a decision. Where the action's turn is stopping, an approval waits
// for its end, up to Times.WindDown, to go on after it.
func (e *Engine) decide(ctx context.Context, d agent.Decision) (agent.Action, error) {
	wait, cancel := context.WithTimeout(ctx, e.times.WindDown)
	defer cancel()
	for {
		a, queued, err := e.store.Decide(ctx, d)
		if queued {
			poke(e.pokeClaim)
			e.notify(agent.Hint{Kind: agent.HintQueue})
		}
		busy, ok := errors.AsType[*agent.BusyError](err)
		if !ok || !busy.Stopping || wait.Err() != nil {
			return a, err
		}
		e.awaitFree(wait, busy)
		if ctx.Err() != nil {
			return agent.Action{}, busy
		}
	}
}

// wordsFor says which decisions there are about an action.
var wordsFor = map[agent.ActionType]string{
	agent.ActionApproval: "must be approve or reject: this is an approval",
	agent.ActionQuestion: "must be answer or reject: this is a question",
}

// checkDecision says whether an open action may be decided so.
func (e *Engine) checkDecision(ctx context.Context, a agent.Action, s agent.Session, d agent.Decision) error {
	switch {
	case a.State != agent.ActionOpen || d.State != agent.ActionApproved:
		return nil
	case a.Type == agent.ActionQuestion:
		return a.CheckAnswer(d.Answer)
	case d.Arguments == nil:
		return nil
	}
	return e.checkEdited(ctx, a, s, d.Arguments)
}

// checkEdited says whether the action's tool would take other arguments than it
// was called with. Where the tool can't be had now they are checked when the call
// is made, and are then an error that the model reads.
func (e *Engine) checkEdited(ctx context.Context, a agent.Action, s agent.Session, arguments []byte) error {
	ctx, cancel := context.WithTimeout(ctx, e.times.Write)
	defer cancel()
	t, _, err := e.store.Turn(ctx, a.Turn)
	if err != nil || e.cfg.Tools == nil {
		return err
	}
	tools, err := e.cfg.Tools.Open(ctx, s, t.Spec.Tools)
	i := slices.IndexFunc(tools, func(t agent.Tool) bool { return t.Spec.Name == a.Name })
	if err != nil || i < 0 || tools[i].Check == nil {
		return nil
	}
	if err := tools[i].Check(arguments); err != nil {
		return &agent.FieldError{Field: "arguments", Message: err.Error()}
	}
	return nil
}

func mayDecide(p agent.Principal, a agent.Action, s agent.Session) error {
	if s.Project != p.Project {
		return agent.ErrNotFound
	}
	if a.Type == agent.ActionApproval {
		if !p.Can(agent.PermAgentApprove) {
			return agent.ErrForbidden
		}
		return nil
	}
	return p.MayAct(s)
}
