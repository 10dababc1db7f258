package portal

import (
	"cmp"
	"errors"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi"
)

// Doorman bounds how many visitors one address may be let in as: whoever can be
// anybody anew has no limit of its own. Zero is the default.
type Doorman struct {
	PerMinute float64 // default 30
	Burst     int     // default 60
	Addresses int     // that are kept in mind, default 10,000
}

// doorman keeps an address (of IPv6 its /64) in mind until it is forgotten for
// another one.
type doorman struct {
	cfg Doorman

	mu   sync.Mutex
	seen map[netip.Prefix]*rate.Limiter
}

func newDoorman(cfg Doorman) *doorman {
	cfg.PerMinute = cmp.Or(cfg.PerMinute, 30)
	cfg.Burst = cmp.Or(cfg.Burst, 60)
	cfg.Addresses = cmp.Or(cfg.Addresses, 10_000)
	return &doorman{cfg: cfg, seen: map[netip.Prefix]*rate.Limiter{}}
}

func (d *doorman) lets(address string) bool {
	addr, err := netip.ParseAddr(address)
	if err != nil {
		return true
	}
	bits := 32
	if addr.Is6() {
		bits = 64
	}
	key, _ := addr.Prefix(bits)
	d.mu.Lock()
	defer d.mu.Unlock()
	l := d.seen[key]
	if l == nil {
		if len(d.seen) >= d.cfg.Addresses {
			for victim := range d.seen {
				delete(d.seen, victim)
				break
			}
		}
		l = rate.NewLimiter(rate.Limit(d.cfg.PerMinute/60), d.cfg.Burst)
		d.seen[key] = l
	}
	return l.Allow()
}

func (d *door) config(w http.ResponseWriter, r *http.Request, p agent.Portal) error {
	out := Portal{
		Slug: p.Slug, Title: p.Title, Welcome: p.Welcome, Anonymous: p.TakesAnonymous(), Approvals: p.Approvals,
		MaxMessageChars: p.Limits.WithDefaults().MessageChars,
	}
	if out.Title == "" {
		a, err := d.store.Agent(r.Context(), p.Project, p.Agent)
		if err != nil {
			return httpapi.NotFound(err, "portal_not_found", "There is no such chat.")
		}
		out.Title = cmp.Or(a.Name, a.Key)
	}
	return httpapi.WriteJSON(w, http.StatusOK, out)
}

func (d *door) admit(w http.ResponseWriter, r *http.Request, p agent.Portal) error {
	var in AdmitRequest
	if err := httpapi.ReadOptionalJSON(r, &in); err != nil {
		return err
	}
	if !d.doorman.lets(httpapi.Caller(r.Context()).Address) {
		return &httpapi.Error{Status: http.StatusTooManyRequests, Code: "too_many_visitors", RetryAfter: time.Minute,
			Message: "Too many visitors came from this address. Try again in a minute."}
	}
	site := ""
	if in.Token != nil {
		site = *in.Token
	}
	v, err := d.visitors.Admit(r.Context(), p, site)
	if errors.Is(err, agent.ErrNoVisitors) {
		return &httpapi.Error{Status: http.StatusServiceUnavailable, Code: "portal_unavailable", Err: err, RetryAfter: time.Minute,
			Message: "This server can't let visitors in."}
	}
	if err != nil {
		return err
	}
	return httpapi.WriteJSON(w, http.StatusCreated, Visitor{Id: v.ID, Name: ptr(v.Name), Token: v.Token, ExpiresAt: v.ExpiresAt.UTC()})
}
