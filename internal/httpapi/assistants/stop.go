package assistants

import (
	"cmp"
	"context"
	"errors"
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi"
	"github.com/belayrun/belay/internal/httpapi/apigen"
	"github.com/belayrun/belay/internal/turn"
)

// stoppedRun is the answer of a stop: the run, and with wait_ms how far the stop
// has got.
type stoppedRun struct {
	apigen.ThreadRun
	Done       *bool            `json:"done,omitempty"`
	StopStatus *turn.StopStatus `json:"stop_status,omitempty"`
}

// cancelRun stops what runs on the thread. The run of the path may be another
// one, or none: only where it is of this thread and has ended is that the answer.
func (d *door) cancelRun(w http.ResponseWriter, r *http.Request) error {
	in, err := httpapi.ReadStop(r)
	if err != nil {
		return err
	}
	thread, given := bare(prefixThread, chi.URLParam(r, "thread")), httpapi.RunID(chi.URLParam(r, "run"))
	httpapi.Note(r.Context(), thread, given)
	ctx, done := httpapi.Detach(r.Context(), in.Wait)
	defer done()
	p := httpapi.Caller(ctx)
	if err := d.ended(ctx, p, thread, given); err != nil {
		return err
	}
	running, err := d.running(ctx, p, thread)
	if err != nil {
		return noRun(err)
	}
	a, err := d.engine.Stop(ctx, turn.StopRequest{
		Principal: p, Door: agent.DoorAssistants, Session: thread, Turn: cmp.Or(in.Run, running), Wait: in.Wait,
	})
	if err != nil {
		return noRun(err)
	}
	if !a.Cancelled || len(a.Turns) == 0 {
		if err := d.ended(ctx, p, thread, given); err != nil { // by itself, meanwhile
			return err
		}
		return noRun(agent.ErrNotFound)
	}
	t, _, err := d.store.Turn(ctx, a.Turns[0])
	if err != nil {
		return err
	}
	out := stoppedRun{}
	if out.ThreadRun, err = d.object(r, t); err != nil {
		return err
	}
	if in.Asked {
		out.Done, out.StopStatus = new(a.Done()), &a.Status
	}
	if !in.Asked || !a.Done() {
		asCancelling(&out.ThreadRun)
	}
	return httpapi.WriteJSON(w, http.StatusOK, out)
}

// running returns the turn in the thread's slot, agent.ErrNotFound where there is
// none: what earlier turns have left open is not a run. While nobody can tell it
// is empty: whichever runs here is stopped.
func (d *door) running(ctx context.Context, p agent.Principal, thread string) (string, error) {
	info, err := d.store.Session(ctx, thread)
	if errors.Is(err, agent.ErrUnavailable) {
		return "", nil
	}
	if err == nil {
		err = p.MayAct(info.Session)
	}
	if err == nil && info.Turn == "" {
		err = agent.ErrNotFound
	}
	return info.Turn, err
}

// ended returns the 400 of a run of the thread that has ended, nil for any other.
// While nobody can tell, the stop is tried: what runs here must be told even then.
func (d *door) ended(ctx context.Context, p agent.Principal, thread, given string) error {
	t, s, err := d.store.Turn(ctx, given)
	switch {
	case errors.Is(err, agent.ErrUnavailable), isNotFound(err), err == nil && (s.ID != thread || !t.Status.Final()):
		return nil
	case err != nil:
		return err
	}
	if err := p.MayAct(s); err != nil {
		return noRun(err)
	}
	return &httpapi.Error{
		Status: http.StatusBadRequest, Code: "run_already_ended", Fields: httpapi.Fields{Conversation: s.ID, Run: t.ID},
		Message: "The run has ended already: it is " + string(endStatus(&t)) + ".",
	}
}

// asCancelling shows a run that was told to stop a moment ago as just that,
// though it may have ended since: clients wait for cancelled by asking again.
func asCancelling(x *apigen.ThreadRun) {
	x.Status, x.CancelledAt, x.Usage = apigen.ThreadRunStatusCancelling, nil, nil
}
