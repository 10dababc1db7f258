package agent

import (
	"slices"
	"strings"
	"time"
)

// MemberRole is what a user is in a project.
type MemberRole string

// The roles.
const (
	RoleOwner    MemberRole = "owner"
	RoleBuilder  MemberRole = "builder"
	RoleOperator MemberRole = "operator"
	RoleViewer   MemberRole = "viewer"
)

// MemberRoles lists the roles.
var MemberRoles = []MemberRole{RoleOwner, RoleBuilder, RoleOperator, RoleViewer}

// Permissions returns what a member of the role may do; nothing where there is
// no such role.
func (r MemberRole) Permissions() []Permission {
	switch r {
	case RoleOwner:
		return slices.Clone(Permissions)
	case RoleBuilder:
		return []Permission{
			PermAgentView, PermAgentRun, PermAgentManage, PermAgentPublish, PermSessionViewOthers,
			PermTokenManage, PermPortalManage, PermModelManage, PermUsageView,
		}
	case RoleOperator:
		return []Permission{
			PermAgentView, PermAgentRun, PermSessionViewOthers, PermSessionManageOthers,
			PermAgentApprove, PermUsageView, PermOperationsView,
		}
	case RoleViewer:
		return []Permission{PermAgentView, PermSessionViewOthers, PermUsageView}
	}
	return nil
}

// CheckRole says whether there is such a role.
func CheckRole(field string, r MemberRole) error {
	if !slices.Contains(MemberRoles, r) {
		return &FieldError{field, "must be owner, builder, operator or viewer"}
	}
	return nil
}

// User is a person who signs in.
type User struct {
	ID           string
	Email        string // in lower case
	Name         string
	CreatedAt    time.Time
	LastSignInAt time.Time // zero: never
}

// userKind begins the principal ids of users.
const userKind = "user:"

// Principal is the id that the user acts under.
func (u User) Principal() string { return userKind + u.ID }

// ShownName is the user's name, or his e-mail where he has given none.
func (u User) ShownName() string {
	if u.Name == "" {
		return u.Email
	}
	return u.Name
}

// Member is a user in a project.
type Member struct {
	User
	Project string
	Role    MemberRole
	Since   time.Time
}

// Membership is a project of a user.
type Membership struct {
	Project string // id
	Key     string
	Role    MemberRole
}

// SignIn is a browser that is signed in, in the project that it looks at.
type SignIn struct {
	User      User
	Current   Membership
	Projects  []Membership // all of his, Current among them
	ExpiresAt time.Time    // unless it is used
}

// Principal is who calls through the sign-in.
func (s SignIn) Principal() Principal {
	return Principal{
		ID: s.User.Principal(), Project: s.Current.Project, Name: s.User.ShownName(), Permissions: s.Current.Role.Permissions(),
	}
}

// Named is a principal as it is shown to people.
type Named struct {
	ID   string // of the principal
	Kind string // user, token, visitor or system
	Name string
}

// Unnamed is what is known of a principal by its id alone.
func Unnamed(id string) Named {
	kind, _, ok := strings.Cut(id, ":")
	if !ok || kind != "user" && kind != "token" && kind != "visitor" {
		kind = "system"
	}
	if kind == "visitor" {
		return Named{ID: id, Kind: kind, Name: visitorName(id)}
	}
	return Named{ID: id, Kind: kind, Name: id}
}

// visitorName is what a visitor is called: by the site's own id of it, or by the
// end of ours. The word stays before it: a site may choose any id.
func visitorName(id string) string {
	_, rest, _ := strings.Cut(id, ":")
	slug, who, ok := strings.Cut(rest, ":")
	if !ok {
		return id
	}
	if sub, named := strings.CutPrefix(who, "user:"); named {
		return "visitor " + sub + " of " + slug
	}
	return "visitor " + who[max(0, len(who)-4):] + " of " + slug
}

// Bounds of a password, in bytes.
const (
	MinPassword = 10
	MaxPassword = 200
)

// CheckPassword says whether a password may be chosen.
func CheckPassword(field, password string) error {
	if len(password) < MinPassword || len(password) > MaxPassword {
		return &FieldError{field, "must be 10 to 200 bytes long"}
	}
	return nil
}

// CheckEmail returns an e-mail address as it is stored, or says what is wrong
// with it. Only what could not be one is refused.
func CheckEmail(field, email string) (string, error) {
	email = strings.ToLower(strings.TrimSpace(email))
	name, host, ok := strings.Cut(email, "@")
	if !ok || name == "" || host == "" || len(email) > 254 || strings.ContainsFunc(email, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return "", &FieldError{field, "must be an e-mail address"}
	}
	return email, nil
}
