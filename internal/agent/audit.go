package agent

import "time"

// Actor is who did something and from where, as the audit log keeps it.
type Actor struct {
	By      string // principal id, or the user of a command line
	Door    Door
	Address string // of the caller on the network, empty: none is known
}

// AuditAction is what was done.
type AuditAction string

// What the audit log records.
const (
	AuditStop         AuditAction = "turn.stopped"
	AuditDecide       AuditAction = "action.decided"
	AuditPublish      AuditAction = "agent.published"
	AuditTokenCreated AuditAction = "token.created"
	AuditTokenRevoked AuditAction = "token.revoked"
	AuditRedelivered  AuditAction = "callback.redelivered"
)

// AuditActions lists them all.
var AuditActions = []AuditAction{AuditStop, AuditDecide, AuditPublish, AuditTokenCreated, AuditTokenRevoked, AuditRedelivered}

// AuditEntry is one line of a project's audit log: it is written in the
// transaction that does what it records.
type AuditEntry struct {
	ID      string
	Project string
	At      time.Time
	Action  AuditAction
	Actor
	Node    string // label of the node that took the request
	Session string // empty: it is about none
	Turn    string // likewise
	Subject string // id of the action, key of the agent, id of the token
	Detail  string // the decision, the version, the token's name
}

// AuditFilter selects entries of one project.
type AuditFilter struct {
	Project string
	Action  AuditAction // empty: any
	By      string      // empty: anybody
	Session string      // empty: any
	Turn    string      // empty: any
	Page    Page
}
