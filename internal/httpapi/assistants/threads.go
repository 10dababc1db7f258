package assistants

import (
	"maps"
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi"
	"github.com/belayrun/belay/internal/httpapi/apigen"
)

// threadRequest is what a thread is made from.
type threadRequest struct {
	Messages      []messageRequest  `json:"messages"`
	Metadata      map[string]string `json:"metadata"`
	ToolResources map[string]any    `json:"tool_resources"`
}

// check returns the thread's messages; fields are named below prefix.
func (q *threadRequest) check(prefix string) ([]agent.Prompt, error) {
	if len(q.ToolResources) > 0 {
		return nil, httpapi.Invalid(prefix+"tool_resources", "must be empty: an agent's tools are declared with it")
	}
	if err := httpapi.CheckMetadata(q.Metadata); err != nil {
		return nil, err
	}
	return readMessages(q.Messages, prefix+"messages")
}

func threadOut(s agent.Session) apigen.Thread {
	return apigen.Thread{Id: prefixThread + s.ID, Object: "thread", CreatedAt: s.CreatedAt.Unix(), Metadata: kept(s.Metadata)}
}

// kept is metadata as it is shown: never null.
func kept(m map[string]string) apigen.KeptMetadata {
	out := apigen.KeptMetadata{}
	maps.Copy(out, m)
	return out
}

func (d *door) createThread(w http.ResponseWriter, r *http.Request) error {
	p, err := mayRun(r.Context())
	if err != nil {
		return err
	}
	var q threadRequest
	if err := httpapi.ReadOptionalJSON(r, &q); err != nil {
		return err
	}
	messages, err := q.check("")
	if err != nil {
		return err
	}
	ctx, done := httpapi.Detach(r.Context(), 0)
	defer done()
	info, err := d.store.CreateSession(ctx, agent.Session{Project: p.Project, Owner: p.ID, Door: agent.DoorAssistants, Metadata: q.Metadata}, messages)
	if err != nil {
		return err
	}
	httpapi.Note(r.Context(), info.ID, "")
	return httpapi.WriteJSON(w, http.StatusOK, threadOut(info.Session))
}

func (d *door) getThread(w http.ResponseWriter, r *http.Request) error {
	info, err := d.thread(r, agent.Principal.MayView)
	if err != nil {
		return err
	}
	return httpapi.WriteJSON(w, http.StatusOK, threadOut(info.Session))
}

func (d *door) updateThread(w http.ResponseWriter, r *http.Request) error {
	var q struct {
		Metadata      map[string]string `json:"metadata"`
		ToolResources map[string]any    `json:"tool_resources"`
	}
	if err := httpapi.ReadOptionalJSON(r, &q); err != nil {
		return err
	}
	if _, err := (&threadRequest{Metadata: q.Metadata, ToolResources: q.ToolResources}).check(""); err != nil {
		return err
	}
	info, err := d.thread(r, agent.Principal.MayAct)
	if err != nil {
		return err
	}
	if q.Metadata != nil {
		if err := d.store.SetMetadata(r.Context(), info.ID, q.Metadata); err != nil {
			return noThread(err)
		}
		info.Metadata = q.Metadata
	}
	return httpapi.WriteJSON(w, http.StatusOK, threadOut(info.Session))
}

func (d *door) deleteThread(w http.ResponseWriter, r *http.Request) error {
	given := chi.URLParam(r, "thread")
	info, err := d.store.Session(r.Context(), bare(prefixThread, given))
	if err == nil {
		err = httpapi.Caller(r.Context()).MayAct(info.Session)
	}
	if err == nil {
		httpapi.Note(r.Context(), info.ID, "")
		err = d.store.DeleteSession(r.Context(), info.ID)
	}
	if err != nil && !isNotFound(err) {
		return err
	}
	return httpapi.WriteJSON(w, http.StatusOK, apigen.Deleted{Id: given, Object: "thread.deleted", Deleted: true})
}
