package agent

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// Callback is an address that is told of a turn: of each pause and of its end.
type Callback struct {
	Kind CallbackKind
	// Name tells a turn's callbacks of one kind apart. A run's own has none.
	Name    string
	Dialect string // how what is sent is written, where a kind has several ways
	URL     string
	// Secret signs what is sent; empty: it is not signed. It is kept sealed and
	// not read back, but for a delivery.
	Secret string
	// Headers are sent too. They are kept sealed: what proves who sends is in them.
	Headers map[string]string

	Signed   bool           // a secret is kept
	Status   CallbackStatus // of the newest delivery; pending before the first
	Attempts int            // of that delivery
}

// CallbackKind says what is sent to a callback.
type CallbackKind string

// The kinds of callbacks.
const (
	CallbackRun CallbackKind = "run" // a background run's: signed, one event for each end of a leg
	CallbackA2A CallbackKind = "a2a" // a push notification of a task
)

// CallbackStatus is how far a delivery has got.
type CallbackStatus string

// The statuses. A dead delivery is not tried any more, unless somebody asks.
const (
	CallbackPending   CallbackStatus = "pending"
	CallbackDelivered CallbackStatus = "delivered"
	CallbackDead      CallbackStatus = "dead"
)

// Delivery is one event for one callback, to be sent until it has arrived.
type Delivery struct {
	ID       string // the same at every attempt
	Round    int    // 1, and one more each time somebody asks to deliver it again
	Callback Callback
	Project  string
	Session  string
	Turn     string
	Event    string // one of the Event constants
	Seq      int64  // of the journal's event that it tells: what came later is not told
	Body     []byte // as it is sent; nil: not made yet
	Status   CallbackStatus
	Attempts int    // of this round
	Error    string // why the last attempt failed, fit for the caller
	Behind   bool   // the one before it, for the same callback, is about to be tried first

	CreatedAt time.Time
	TriedAt   time.Time // zero: not tried
	EndedAt   time.Time // zero: pending
}

// EventID is what the delivery is called on the wire.
func (d Delivery) EventID() string { return "evt_" + d.ID }

// What a delivery tells of a run.
const (
	EventSucceeded      = "agent_run.succeeded"
	EventFailed         = "agent_run.failed"
	EventCanceled       = "agent_run.canceled"
	EventRequiresAction = "agent_run.requires_action"
)

// CallbackEvent is what callbacks are told of a leg that ended so. A limit keeps
// the answer: the run has succeeded.
func (o Outcome) CallbackEvent() string {
	switch o.Kind {
	case Answered, Limited:
		return EventSucceeded
	case Stopped:
		return EventCanceled
	case Waiting:
		return EventRequiresAction
	}
	return EventFailed
}

// DeliveryFilter selects deliveries of one project.
type DeliveryFilter struct {
	Project string
	Owner   string         // of their conversations; empty: anybody's
	Turn    string         // empty: of any
	Status  CallbackStatus // empty: of any
	Page    Page
}

// CallbackError refuses a callback that a caller asks for.
type CallbackError struct {
	Field   string // callback_url or callback_secret
	Message string
}

func (e *CallbackError) Error() string { return e.Field + ": " + e.Message }

// Limits of what a caller may ask for.
const (
	maxCallbackURL    = 2048
	maxCallbackSecret = 512
)

// secretPrefix begins a secret that is base64, as Standard Webhooks writes them.
const secretPrefix = "whsec_"

// Check returns a *CallbackError where the address or the secret can't be meant.
// Where the address leads is not looked at.
func (c Callback) Check() error {
	u, err := url.Parse(c.URL)
	switch {
	case c.URL == "" && c.Secret != "":
		return &CallbackError{"callback_secret", "goes with callback_url"}
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return &CallbackError{"callback_url", "must be an http or https URL"}
	case u.User != nil:
		return &CallbackError{"callback_url", "must not hold a user or a password"}
	case len(c.URL) > maxCallbackURL:
		return &CallbackError{"callback_url", fmt.Sprintf("must be %d bytes or less", maxCallbackURL)}
	case len(c.Secret) > maxCallbackSecret:
		return &CallbackError{"callback_secret", fmt.Sprintf("must be %d bytes or less", maxCallbackSecret)}
	}
	if c.Secret == "" {
		return nil
	}
	_, err = SigningKey(c.Secret)
	return err
}

// SigningKey returns the key that a callback's secret stands for: what follows
// whsec_ is base64, anything else is the key as it is.
func SigningKey(secret string) ([]byte, error) {
	encoded, ok := strings.CutPrefix(secret, secretPrefix)
	if !ok {
		return []byte(secret), nil
	}
	key, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(key) == 0 {
		return nil, &CallbackError{"callback_secret", "must be base64 after whsec_"}
	}
	return key, nil
}

// AsOf returns the turn as it was when what the delivery tells had happened. A
// turn that has ended does not change any more; one that paused may have gone on.
func (d Delivery) AsOf(t Turn) Turn {
	if d.Event == EventRequiresAction {
		t.Status, t.StopReason, t.StopDetail, t.Stop, t.Error, t.EndedAt = StatusWaiting, "", "", nil, nil, time.Time{}
	}
	return t
}
