package studio

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi"
	wire "github.com/belayrun/belay/internal/httpapi/apigen/studio"
)

func (d *door) hint(w http.ResponseWriter, _ *http.Request) error {
	if d.Hint == nil {
		return &httpapi.Error{Status: http.StatusNotFound, Code: "not_found", Message: "There is no hint here."}
	}
	return httpapi.WriteJSON(w, http.StatusOK, wire.SignIn{Email: d.Hint.Email, Password: d.Hint.Password})
}

func (d *door) signIn(w http.ResponseWriter, r *http.Request) error {
	var in wire.SignIn
	if err := httpapi.ReadJSON(r, &in); err != nil {
		return err
	}
	ctx, done := httpapi.Detach(r.Context(), 0)
	defer done()
	me, secret, err := d.Access.SignIn(ctx, in.Email, in.Password, httpapi.Caller(r.Context()).Address)
	if err != nil {
		return err
	}
	httpapi.SetSignIn(w, r, secret, d.SignInLife)
	return httpapi.WriteJSON(w, http.StatusOK, meOut(me))
}

func (d *door) signOut(w http.ResponseWriter, r *http.Request) error {
	if secret := httpapi.SignInSecret(r); secret != "" {
		if err := d.Access.SignOut(r.Context(), secret); err != nil {
			return err
		}
	}
	httpapi.SetSignIn(w, r, "", 0)
	return noContent(w)
}

func (d *door) me(w http.ResponseWriter, r *http.Request) error {
	return httpapi.WriteJSON(w, http.StatusOK, meOut(httpapi.SignedIn(r.Context())))
}

func (d *door) selectProject(w http.ResponseWriter, r *http.Request) error {
	var in wire.SelectProjectJSONBody
	if err := httpapi.ReadJSON(r, &in); err != nil {
		return err
	}
	me, err := d.Access.Select(r.Context(), httpapi.SignInSecret(r), in.ProjectId)
	if err != nil {
		return httpapi.NotFound(err, "project_not_found", "You are a member of no such project.")
	}
	return httpapi.WriteJSON(w, http.StatusOK, meOut(me))
}

func (d *door) changePassword(w http.ResponseWriter, r *http.Request) error {
	var in wire.PasswordChange
	if err := httpapi.ReadJSON(r, &in); err != nil {
		return err
	}
	ctx, done := httpapi.Detach(r.Context(), 0)
	defer done()
	if err := d.Access.ChangePassword(ctx, httpapi.SignInSecret(r), in.Current, in.New, httpapi.Caller(r.Context()).Address); err != nil {
		return err
	}
	return noContent(w)
}

func meOut(in agent.SignIn) wire.Me {
	p := in.Principal()
	out := wire.Me{
		User: wire.Actor{Id: p.ID, Kind: "user", Name: p.Name}, Email: in.User.Email,
		Project: membershipOut(in.Current), Permissions: orEmpty(p.Permissions), ExpiresAt: in.ExpiresAt.UTC(),
	}
	for _, m := range in.Projects {
		out.Projects = append(out.Projects, membershipOut(m))
	}
	return out
}

func membershipOut(m agent.Membership) wire.Membership {
	return wire.Membership{Id: m.Project, Key: m.Key, Role: m.Role}
}

const maxActors = 100

func (d *door) listActors(w http.ResponseWriter, r *http.Request) error {
	ids := strings.Split(r.URL.Query().Get("ids"), ",")
	if len(ids) > maxActors {
		return httpapi.Invalid("ids", "must be %d or fewer", maxActors)
	}
	known, err := d.store.Names(r.Context(), httpapi.Caller(r.Context()).Project, ids)
	if err != nil {
		return err
	}
	out := wire.ActorList{Data: []wire.Actor{}}
	for _, id := range ids {
		if n, ok := known[id]; ok {
			out.Data = append(out.Data, actorOut(n))
		}
	}
	return httpapi.WriteJSON(w, http.StatusOK, out)
}

func actorOut(n agent.Named) wire.Actor { return wire.Actor{Id: n.ID, Kind: n.Kind, Name: n.Name} }

// names are the names of principals in an answer.
type names map[string]agent.Named

// named looks up the principals that an answer names, all at once.
func (d *door) named(ctx context.Context, ids []string) (names, error) {
	slices.Sort(ids)
	ids = slices.DeleteFunc(slices.Compact(ids), func(id string) bool { return id == "" })
	if len(ids) == 0 {
		return nil, nil
	}
	return d.store.Names(ctx, httpapi.Caller(ctx).Project, ids)
}

func (n names) actor(id string) wire.Actor {
	if known, ok := n[id]; ok {
		return actorOut(known)
	}
	return actorOut(agent.Unnamed(id))
}

// orNil is actor, nil for nobody.
func (n names) orNil(id string) *wire.Actor {
	if id == "" {
		return nil
	}
	return new(n.actor(id))
}
