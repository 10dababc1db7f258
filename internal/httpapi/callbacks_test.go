package httpapi_test

import (
	"errors"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi"
	"github.com/belayrun/belay/internal/httpapi/httpapitest"
)

func TestTranscriptOfCallbacks(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.answered()
	s.do("owner", "POST", "/agents/responses", `{"model":"support","input":"Hello","callback_url":"https://example.com/hook"}`)
	s.do("owner", "POST", "/agents/responses", `{"model":"support","input":"Hello"}`)
	s.do("owner", "POST", "/agents/runs/"+turn1+"/callback/redeliver", "")
	s.Tell(agent.Delivery{
		Turn: turn1, Event: agent.EventSucceeded, Status: agent.CallbackDead, Attempts: 10, Error: "answered 500",
		Callback:  agent.Callback{URL: "https://example.com/hook", Signed: true},
		CreatedAt: httpapitest.Epoch, TriedAt: httpapitest.Epoch.Add(time.Hour), EndedAt: httpapitest.Epoch.Add(time.Hour),
	})
	s.do("owner", "GET", "/agents/callbacks?status=dead", "")
	s.do("owner", "GET", "/agents/callbacks?run_id=run_"+turn1+"&limit=1", "")
	s.do("other", "GET", "/agents/callbacks", "")
	s.do("foreign", "POST", "/agents/runs/"+turn1+"/callback/redeliver", "")
	s.do("other", "POST", "/agents/runs/"+turn1+"/callback/redeliver", "")
	s.do("owner", "POST", "/agents/runs/run_"+turn1+"/callback/redeliver", "")
	s.do("owner", "GET", "/agents/callbacks?status=lost", "")
	s.compare("callbacks")
}

func TestTranscriptOfTheAuditLog(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	at := httpapitest.Epoch
	s.Audited(agent.AuditEntry{At: at, Action: agent.AuditTokenCreated, Actor: agent.Actor{By: "cli:root", Door: agent.DoorCLI}, Node: "n1", Subject: "7a", Detail: "ci"})
	s.Audited(agent.AuditEntry{At: at, Action: agent.AuditStop, Actor: agent.Actor{By: "token:owner", Door: agent.DoorClient, Address: "192.0.2.7"}, Node: "n2", Session: session1, Turn: turn1})
	s.do("owner", "GET", "/agents/audit?limit=1", "")
	s.do("owner", "GET", "/agents/audit?limit=1&cursor=1", "")
	s.do("owner", "GET", "/agents/audit?action=turn.stopped&by=token:owner&conversation_id="+session1+"&run_id=run_"+turn1, "")
	s.do("owner", "GET", "/agents/audit?action=looked", "")
	s.do("foreign", "GET", "/agents/audit", "")
	s.do("weak", "GET", "/agents/audit", "")
	s.compare("audit")
}

// An address that a caller writes into X-Forwarded-For is believed only as far as
// a trusted balancer has written it.
func TestTheAddressOfACallerIsThatOfTheLastHopThatIsNoTrustedProxy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		trusted, forwarded []string
		want               string
	}{
		"no proxy is trusted":        {nil, []string{"203.0.113.9"}, "127.0.0.1"},
		"the balancer says it":       {[]string{"127.0.0.1/32"}, []string{"203.0.113.9"}, "203.0.113.9"},
		"the caller lied before it":  {[]string{"127.0.0.1/32"}, []string{"10.9.9.9, 203.0.113.9"}, "203.0.113.9"},
		"two balancers":              {[]string{"127.0.0.0/8", "10.0.0.0/8"}, []string{"198.51.100.1, 203.0.113.9", "10.1.2.3"}, "203.0.113.9"},
		"the balancer says nothing":  {[]string{"127.0.0.1/32"}, nil, "127.0.0.1"},
		"what it says is no address": {[]string{"127.0.0.1/32"}, []string{"unknown"}, "127.0.0.1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, func(cfg *httpapi.Config) {
				for _, p := range c.trusted {
					cfg.Proxies = append(cfg.Proxies, netip.MustParsePrefix(p))
				}
			})
			s.answered()
			req, err := http.NewRequestWithContext(t.Context(), "POST", s.url+httpapitest.Prefix+"/agents/conversations/none/cancel", nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer owner")
			for _, hop := range c.forwarded {
				req.Header.Add("X-Forwarded-For", hop)
			}
			res, err := s.http.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			if got := s.Stops()[0].Principal.Address; got != c.want {
				t.Errorf("address %q, want %q", got, c.want)
			}
		})
	}
}

func TestCallbacksAndAuditNeedTheDatabase(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Break(errors.Join(agent.ErrUnavailable))
	for _, path := range []string{"/agents/callbacks", "/agents/audit"} {
		if a := s.do("admin", "GET", path, ""); a.status != http.StatusServiceUnavailable {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
}
