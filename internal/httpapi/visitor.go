package httpapi

import (
	"context"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/belayrun/belay/internal/agent"
)

// Meter counts what visitors do.
type Meter interface {
	// MeterVisitor counts a message; not ok where it is one too many in this
	// minute: it may be sent after wait.
	MeterVisitor(ctx context.Context, p agent.Portal, visitor string) (ok bool, wait time.Duration, err error)
	// VisitorSpend returns the USD of the last 24 hours of a visitor and of all
	// whose ids begin with prefix.
	VisitorSpend(ctx context.Context, project, prefix, visitor string) (one, all float64, err error)
}

// MayCost says whether a visitor may send a message at a portal now, and counts
// it if so: it is no longer than it may be, not one too many, and neither the
// visitor nor all of them have cost what they may. field is what the message is
// called in the caller's notation.
func MayCost(ctx context.Context, m Meter, p agent.Portal, visitor, field, message string) error {
	l := p.Limits.WithDefaults()
	if n := utf8.RuneCountInString(message); n > l.MessageChars {
		return Invalid(field, "must have %d characters at most; it has %d", l.MessageChars, n)
	}
	if l.VisitorUSDPerDay > 0 || l.PortalUSDPerDay > 0 {
		one, all, err := m.VisitorSpend(ctx, p.Project, agent.VisitorPrefix(p.Slug), visitor)
		switch {
		case err != nil:
			return err
		case l.VisitorUSDPerDay > 0 && one >= l.VisitorUSDPerDay, l.PortalUSDPerDay > 0 && all >= l.PortalUSDPerDay:
			return &Error{Status: http.StatusTooManyRequests, Code: "portal_spend_limit", RetryAfter: time.Hour,
				Message: "As much was answered here as may be today. Try again later."}
		}
	}
	ok, wait, err := m.MeterVisitor(ctx, p, visitor)
	if err == nil && !ok {
		err = &Error{Status: http.StatusTooManyRequests, Code: "portal_rate_limit", RetryAfter: wait,
			Message: "That was too many messages in a minute. Wait a moment and send it again."}
	}
	return err
}
