package studio

import (
	"context"
	"errors"
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi"
	wire "github.com/belayrun/belay/internal/httpapi/apigen/studio"
)

func (d *door) listPortals(w http.ResponseWriter, r *http.Request) error {
	list, err := d.store.Portals(r.Context(), httpapi.Caller(r.Context()).Project)
	if err != nil {
		return err
	}
	out := wire.PortalList{Data: make([]wire.Portal, 0, len(list))}
	for _, p := range list {
		out.Data = append(out.Data, portal(p))
	}
	return httpapi.WriteJSON(w, http.StatusOK, out)
}

func portal(p agent.Portal) wire.Portal {
	return wire.Portal{Slug: p.Slug, Config: p, HasSecret: p.HasSecret, CreatedAt: p.CreatedAt.UTC(), UpdatedAt: p.UpdatedAt.UTC()}
}

// ownPortal returns a portal of the caller's project. Another project's is not
// there.
func (d *door) ownPortal(ctx context.Context, slug string) (agent.Portal, error) {
	p, err := d.store.Portal(ctx, slug)
	if err == nil && p.Project != httpapi.Caller(ctx).Project {
		err = agent.ErrNotFound
	}
	return p, httpapi.NotFound(err, "portal_not_found", "There is no such portal.")
}

func (d *door) getPortal(w http.ResponseWriter, r *http.Request) error {
	return d.writePortal(w, r, http.StatusOK, chi.URLParam(r, "slug"))
}

func (d *door) writePortal(w http.ResponseWriter, r *http.Request, status int, slug string) error {
	p, err := d.ownPortal(r.Context(), slug)
	if err != nil {
		return err
	}
	return httpapi.WriteJSON(w, status, portal(p))
}

// shows says whether a portal is free of faults; its agent must be there.
func (d *door) shows(ctx context.Context, p agent.Portal) error {
	if err := p.Validate(""); err != nil {
		return within(err, map[string]string{"slug": "slug", "secret": "secret"})
	}
	_, err := d.store.Agent(ctx, p.Project, p.Agent)
	if errors.Is(err, agent.ErrNotFound) {
		return httpapi.Invalid("config.agent", "must be the key of an agent of this project")
	}
	return err
}

func (d *door) createPortal(w http.ResponseWriter, r *http.Request) error {
	var in wire.PortalCreate
	if err := httpapi.ReadJSON(r, &in); err != nil {
		return err
	}
	p := in.Config
	p.Project, p.Slug, p.Secret = httpapi.Caller(r.Context()).Project, in.Slug, in.Secret
	if err := d.shows(r.Context(), p); err != nil {
		return err
	}
	if err := d.store.CreatePortal(r.Context(), p); err != nil {
		return err
	}
	w.Header().Set("Location", httpapi.StudioPrefix+"/portals/"+p.Slug)
	return d.writePortal(w, r, http.StatusCreated, p.Slug)
}

func (d *door) replacePortal(w http.ResponseWriter, r *http.Request) error {
	var in wire.PortalReplace
	if err := httpapi.ReadJSON(r, &in); err != nil {
		return err
	}
	old, err := d.ownPortal(r.Context(), chi.URLParam(r, "slug"))
	if err != nil {
		return err
	}
	p := in.Config
	p.Project, p.Slug = old.Project, old.Slug
	if in.Secret != nil {
		p.Secret = *in.Secret
	}
	if err := d.shows(r.Context(), p); err != nil {
		return err
	}
	if err := d.store.PutPortal(r.Context(), p); err != nil {
		return err
	}
	return d.writePortal(w, r, http.StatusOK, p.Slug)
}

func (d *door) deletePortal(w http.ResponseWriter, r *http.Request) error {
	if err := d.store.DeletePortal(r.Context(), httpapi.Caller(r.Context()).Project, chi.URLParam(r, "slug")); err != nil {
		return err
	}
	return noContent(w)
}
