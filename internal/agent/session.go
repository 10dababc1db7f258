package agent

import (
	"encoding/json"
	"slices"
	"time"
)

// Session is a conversation with one agent, owned by one principal.
type Session struct {
	ID        string
	Project   string
	Agent     string // key; empty until its first turn
	Owner     string // principal id
	Door      Door
	Title     string
	Metadata  map[string]string // what its owner notes about it; read with the session alone, not with its turns
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Turn is one answer to one message, from its first model call to its end.
type Turn struct {
	ID      string
	Session string
	Agent   string
	Version int // 0: the draft
	Door    Door
	By      string

	Status     Status
	StopReason string
	StopDetail string
	Stop       *Stop // asked for, whether or not it has taken effect
	Error      *Failure

	FirstSeq   int64 // number of its first event in the journal: its user message, or turn.started where it has none; see FirstWords
	Index      int   // of the first message that its model writes
	Background bool
	Metadata   map[string]string
	Callback   *Callback // of a background run, without its secret; nil: none
	Spec       Config    // what it runs, fixed when it began
	Usage      Tokens
	Calls      int // model calls accounted for by legs that were closed
	// Worked is for how long its legs have run, up to when it was read; the time
	// that it waited for a person, or to be claimed, is not in it.
	Worked time.Duration

	Depth  int    // 0: nobody's child
	Parent *Lease // the leg that began it, for a sub-agent's turn

	CreatedAt time.Time
	StartedAt time.Time // zero: never claimed
	EndedAt   time.Time // zero: not ended
}

// ActionType is what an action asks of a person.
type ActionType string

// The types of actions.
const (
	ActionApproval ActionType = "approval"
	ActionQuestion ActionType = "question"
)

// ActionState is what became of an action. All but ActionOpen are final.
type ActionState string

// The states of an action.
const (
	ActionOpen      ActionState = "open"
	ActionApproved  ActionState = "approved" // a question's answer too
	ActionDenied    ActionState = "denied"
	ActionWithdrawn ActionState = "withdrawn"
	ActionExpired   ActionState = "expired"
)

// Action is an approval or a question that a turn waits for.
type Action struct {
	ID        string
	Session   string
	Turn      string
	CallID    string
	Type      ActionType
	Name      string
	Arguments json.RawMessage // as asked; edited ones after an approval that edits
	State     ActionState
	Answer    string
	DecidedBy string
	DecidedAt time.Time
	CreatedAt time.Time
	ExpiresAt time.Time     // nobody can decide it from then on; zero: never
	Lasts     time.Duration // in place of ExpiresAt where it is opened: by the database's clock
}

// Principal is who calls: an API token, a dashboard user or a visitor.
type Principal struct {
	ID          string // stable, with its kind: token:…, user:…, visitor:…
	Project     string
	Name        string
	Permissions []Permission
	Address     string // where the caller is on the network, empty: not known
}

// Permission is a right within a project.
type Permission string

// The permissions.
const (
	PermAgentView           Permission = "agent.view"
	PermAgentRun            Permission = "agent.run"
	PermAgentManage         Permission = "agent.manage"
	PermAgentPublish        Permission = "agent.publish"
	PermSessionViewOthers   Permission = "agent.session_view_others"
	PermSessionManageOthers Permission = "agent.session_manage_others"
	PermAgentApprove        Permission = "agent.approve"
	PermTokenManage         Permission = "token.manage"
	PermPortalManage        Permission = "portal.manage"
	PermModelManage         Permission = "model.manage"
	PermMemberManage        Permission = "member.manage"
	PermUsageView           Permission = "usage.view"
	PermOperationsView      Permission = "operations.view"
)

// Permissions lists every permission there is.
var Permissions = []Permission{
	PermAgentView, PermAgentRun, PermAgentManage, PermAgentPublish,
	PermSessionViewOthers, PermSessionManageOthers, PermAgentApprove,
	PermTokenManage, PermPortalManage, PermModelManage, PermMemberManage,
	PermUsageView, PermOperationsView,
}

// Can reports whether the principal holds a permission.
func (p Principal) Can(want Permission) bool {
	return slices.Contains(p.Permissions, want)
}

// MayAct says whether the principal may send to and stop a session. Another
// project's session does not exist for it: ErrNotFound comes before ErrForbidden.
func (p Principal) MayAct(s Session) error { return p.may(s, PermSessionManageOthers) }

// MayView says whether the principal may read a session; errors as MayAct.
func (p Principal) MayView(s Session) error {
	if p.Can(PermSessionManageOthers) {
		return p.may(s, PermSessionManageOthers)
	}
	return p.may(s, PermSessionViewOthers)
}

func (p Principal) may(s Session, others Permission) error {
	switch {
	case s.Project != p.Project:
		return ErrNotFound
	case s.Owner != p.ID && !p.Can(others):
		return ErrForbidden
	}
	return nil
}

// SessionInfo is a session with what its slot says now.
type SessionInfo struct {
	Session
	State    SlotState
	Stopping bool   // a stop is asked for and the turn has not ended yet
	Turn     string // in the slot, empty when idle
	Last     Status // of its newest turn, empty when it has none
	Reason   string // stop reason of its newest turn
}

// StateWord is the session's state in one word of the API: idle, queued,
// running, stopping or requires_action.
func (s SessionInfo) StateWord() string {
	switch {
	case s.State == SlotWaiting:
		return "requires_action"
	case s.Stopping:
		return "stopping"
	}
	return string(s.State)
}

// Page asks for a part of a list, newest first.
type Page struct {
	Cursor string // opaque, from the page before; empty: the first
	Limit  int    // 1 to 100
}

// SessionFilter selects sessions of one project.
type SessionFilter struct {
	Project string
	Owner   string // empty: anybody's
	Agent   string // empty: any
	Page    Page
}

// ActionFilter selects open actions of one project: those of Owner's sessions, and
// whichever of the others are asked for.
type ActionFilter struct {
	Project   string
	Owner     string // principal id
	Approvals bool   // of anybody's sessions
	Others    bool   // everything of anybody's sessions
	Page      Page
}

// RunFilter selects background runs of one project.
type RunFilter struct {
	Project string
	Owner   string    // of their sessions; empty: anybody's
	Agent   string    // empty: any
	Session string    // empty: any
	Status  RunStatus // empty: any
	Page    Page
}

// Token is an API token without its secret.
type Token struct {
	ID          string
	Project     string
	Name        string
	Prefix      string
	Permissions []Permission
	CreatedAt   time.Time
	ExpiresAt   time.Time // zero: never
	LastUsedAt  time.Time // zero: never
	RevokedAt   time.Time // zero: not revoked
}
