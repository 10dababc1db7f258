package studio

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi"
	wire "github.com/belayrun/belay/internal/httpapi/apigen/studio"
)

func (d *door) listTokens(w http.ResponseWriter, r *http.Request) error {
	list, err := d.store.Tokens(r.Context(), httpapi.Caller(r.Context()).Project)
	if err != nil {
		return err
	}
	out := wire.TokenList{Data: make([]wire.Token, 0, len(list))}
	for _, t := range list {
		out.Data = append(out.Data, tokenOut(t))
	}
	return httpapi.WriteJSON(w, http.StatusOK, out)
}

func (d *door) createToken(w http.ResponseWriter, r *http.Request) error {
	var in wire.TokenCreate
	if err := httpapi.ReadJSON(r, &in); err != nil {
		return err
	}
	p := httpapi.Caller(r.Context())
	t := agent.Token{ID: agent.NewID(), Project: p.Project, Name: strings.TrimSpace(in.Name), Permissions: in.Permissions, CreatedAt: time.Now()}
	if err := checkToken(p, &t, in.ExpiresAt); err != nil {
		return err
	}
	secret, hash, prefix := d.NewToken()
	t.Prefix = prefix
	if err := d.store.CreateToken(r.Context(), t, hash, actor(p)); err != nil {
		return err
	}
	return httpapi.WriteJSON(w, http.StatusCreated, wire.TokenCreated{Token: tokenOut(t), Secret: secret})
}

// checkToken says whether a principal may make a token: nobody gives away what he
// does not hold.
func checkToken(p agent.Principal, t *agent.Token, expires *time.Time) error {
	if t.Name == "" {
		return httpapi.Invalid("name", "is required: what the token is for")
	}
	if err := agent.CheckName("name", t.Name); err != nil {
		return err
	}
	if len(t.Permissions) == 0 {
		return httpapi.Invalid("permissions", "must name one permission at least")
	}
	for i, perm := range t.Permissions {
		if !slices.Contains(agent.Permissions, perm) {
			return httpapi.Invalid("permissions["+itoa(i)+"]", "must be one of the permissions")
		}
		if err := httpapi.Need(p, perm); err != nil {
			return err
		}
	}
	if expires != nil {
		if t.ExpiresAt = *expires; !t.ExpiresAt.After(time.Now()) {
			return httpapi.Invalid("expiresAt", "must be in the future")
		}
	}
	return nil
}

func (d *door) revokeToken(w http.ResponseWriter, r *http.Request) error {
	p := httpapi.Caller(r.Context())
	if err := d.store.RevokeToken(r.Context(), p.Project, chi.URLParam(r, "tokenId"), actor(p)); err != nil {
		return err
	}
	return noContent(w)
}

func tokenOut(t agent.Token) wire.Token {
	return wire.Token{
		Id: t.ID, Name: t.Name, Prefix: t.Prefix, Permissions: orEmpty(t.Permissions), CreatedAt: t.CreatedAt.UTC(),
		ExpiresAt: at(t.ExpiresAt), LastUsedAt: at(t.LastUsedAt), RevokedAt: at(t.RevokedAt),
	}
}

func (d *door) listMembers(w http.ResponseWriter, r *http.Request) error {
	list, err := d.store.Members(r.Context(), httpapi.Caller(r.Context()).Project)
	if err != nil {
		return err
	}
	out := wire.MemberList{Data: make([]wire.Member, 0, len(list))}
	for _, m := range list {
		out.Data = append(out.Data, memberOut(m))
	}
	return httpapi.WriteJSON(w, http.StatusOK, out)
}

func (d *door) addMember(w http.ResponseWriter, r *http.Request) error {
	var in wire.MemberAdd
	if err := httpapi.ReadJSON(r, &in); err != nil {
		return err
	}
	m := agent.Member{Project: httpapi.Caller(r.Context()).Project, Role: in.Role, User: agent.User{ID: agent.NewID()}}
	var err error
	if m.Email, err = agent.CheckEmail("email", in.Email); err != nil {
		return err
	}
	if err := agent.CheckRole("role", in.Role); err != nil {
		return err
	}
	if in.Name != nil {
		m.Name = strings.TrimSpace(*in.Name)
	}
	if err := agent.CheckName("name", m.Name); err != nil {
		return err
	}
	password, given := d.NewPassword(), in.Password != nil
	if given {
		password = *in.Password
	}
	if err := agent.CheckPassword("password", password); err != nil {
		return err
	}
	hash, err := d.Access.Hash(r.Context(), password)
	if err != nil {
		return err
	}
	m, made, err := d.store.AddMember(r.Context(), m, hash)
	if err != nil {
		return err
	}
	out := wire.MemberAdded{Member: memberOut(m)}
	if made && !given {
		out.Password = &password
	}
	return httpapi.WriteJSON(w, http.StatusCreated, out)
}

func (d *door) updateMember(w http.ResponseWriter, r *http.Request) error {
	var in wire.UpdateMemberJSONBody
	if err := httpapi.ReadJSON(r, &in); err != nil {
		return err
	}
	if err := agent.CheckRole("role", in.Role); err != nil {
		return err
	}
	m, err := d.store.SetRole(r.Context(), httpapi.Caller(r.Context()).Project, chi.URLParam(r, "userId"), in.Role)
	if err != nil {
		return noMember(err)
	}
	return httpapi.WriteJSON(w, http.StatusOK, memberOut(m))
}

func noMember(err error) error {
	return httpapi.NotFound(err, "member_not_found", "There is no such member.")
}

func (d *door) removeMember(w http.ResponseWriter, r *http.Request) error {
	if err := d.store.RemoveMember(r.Context(), httpapi.Caller(r.Context()).Project, chi.URLParam(r, "userId")); err != nil {
		return err
	}
	return noContent(w)
}

// resetPassword is for who is a member here alone: an account that other projects
// rely on is not this owner's to take.
func (d *door) resetPassword(w http.ResponseWriter, r *http.Request) error {
	project, user := httpapi.Caller(r.Context()).Project, chi.URLParam(r, "userId")
	list, err := d.store.Memberships(r.Context(), user)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(list, func(m agent.Membership) bool { return m.Project == project }) {
		return noMember(agent.ErrNotFound)
	}
	if len(list) > 1 {
		return &httpapi.Error{Status: http.StatusConflict, Code: "member_elsewhere",
			Message: "This account is a member of other projects too: only its owner changes its password."}
	}
	password, err := d.Access.ResetPassword(r.Context(), user)
	if err != nil {
		return noMember(err)
	}
	return httpapi.WriteJSON(w, http.StatusOK, struct {
		Password string `json:"password"`
	}{password})
}

func memberOut(m agent.Member) wire.Member {
	return wire.Member{UserId: m.ID, Email: m.Email, Name: m.Name, Role: m.Role, CreatedAt: m.Since.UTC(), LastSignInAt: at(m.LastSignInAt)}
}
