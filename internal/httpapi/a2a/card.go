package a2a

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/http"
	"strconv"
	"strings"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi"
)

// card serves the agent's card: that of the version of the URL or the header,
// and without both one that clients of either version take.
func (d *door) card(pinned string, find finder) httpapi.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		h, err := find(r)
		if err != nil {
			return err
		}
		p := httpapi.Caller(r.Context())
		if err := httpapi.Need(p, agent.PermAgentView); err != nil && !p.Can(agent.PermAgentRun) {
			return err
		}
		v, err := bindingOf(r.Header.Get(versionHeader), pinned)
		if err != nil {
			return &httpapi.Error{Status: http.StatusBadRequest, Code: "version_not_supported", Message: err.Error()}
		}
		merged := pinned == "" && strings.TrimSpace(r.Header.Get(versionHeader)) == ""
		return h.writeCard(w, r, h.card(origin(r)+h.path, v, merged, pinned != ""))
	}
}

// origin is where the client has this server.
func origin(r *http.Request) string {
	scheme := "http"
	if r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https" {
		scheme = "https"
	}
	return scheme + "://" + r.Host
}

type capabilities struct {
	Streaming         bool  `json:"streaming"`
	PushNotifications bool  `json:"pushNotifications"`
	History           *bool `json:"stateTransitionHistory,omitempty"` // 0.3
	ExtendedCard      *bool `json:"extendedAgentCard,omitempty"`      // 1.0
}

type agentInterface struct {
	URL             string `json:"url"`
	ProtocolBinding string `json:"protocolBinding"`
	ProtocolVersion string `json:"protocolVersion"`
}

// card returns a card: what both versions say, and the words of the version. One
// that everybody may read says nothing of tokens.
func (h *host) card(url string, v binding, merged, pinned bool) map[string]any {
	name, id := cmp.Or(strings.TrimSpace(h.agent.Name), h.agent.Key), h.agent.Key
	if h.portal != nil {
		name, id = cmp.Or(h.portal.Title, name), h.portal.Slug
	}
	out := map[string]any{
		"name": name, "description": cmp.Or(h.welcome(), "Talks with "+name+"."), "version": strconv.Itoa(h.agent.Published),
		"defaultInputModes": inputModes, "defaultOutputModes": outputModes,
		"skills": []map[string]any{{"id": id, "name": name, "description": "Talks with " + name + ".", "tags": []string{"chat"}}},
	}
	url03, url10 := url, url
	if pinned {
		url03, url10 = url+"v0.3/", url+"v1.0/"
	}
	push := h.portal == nil
	interfaces := []agentInterface{{url10, "JSONRPC", "1.0"}, {url03, "JSONRPC", "0.3"}}
	if v == v10 {
		maps.Copy(out, map[string]any{
			"supportedInterfaces":  interfaces,
			"capabilities":         capabilities{Streaming: true, PushNotifications: push, ExtendedCard: new(false)},
			"securitySchemes":      map[string]any{"bearer": map[string]any{"httpAuthSecurityScheme": map[string]string{"scheme": "Bearer"}}},
			"securityRequirements": []any{map[string]any{"schemes": map[string]any{"bearer": map[string]any{"list": []string{}}}}},
		})
		return h.open(out)
	}
	maps.Copy(out, map[string]any{
		"protocolVersion": "0.3.0", "url": url03, "preferredTransport": "JSONRPC",
		"capabilities":                      capabilities{Streaming: true, PushNotifications: push, History: new(false)},
		"securitySchemes":                   map[string]any{"bearer": map[string]string{"type": "http", "scheme": "bearer"}},
		"security":                          []any{map[string]any{"bearer": []string{}}},
		"supportsAuthenticatedExtendedCard": false,
	})
	if merged {
		out["supportedInterfaces"] = interfaces
	}
	return h.open(out)
}

// open takes out of a card what only callers with a token need.
func (h *host) open(card map[string]any) map[string]any {
	if h.portal != nil {
		for _, name := range []string{"securitySchemes", "securityRequirements", "security"} {
			delete(card, name)
		}
	}
	return card
}

func (h *host) welcome() string {
	if h.portal == nil {
		return ""
	}
	return h.portal.Welcome
}

// writeCard answers with a card that may be kept for a minute; one that needs a
// token by the caller alone.
func (h *host) writeCard(w http.ResponseWriter, r *http.Request, card map[string]any) error {
	b, err := httpapi.AppendJSON(nil, card)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(b)
	tag := `"` + hex.EncodeToString(sum[:12]) + `"`
	head := w.Header()
	head.Set("ETag", tag)
	head.Set("Last-Modified", h.agent.UpdatedAt.UTC().Format(http.TimeFormat))
	head.Set("Cache-Control", map[bool]string{true: "private, max-age=60", false: "public, max-age=60"}[h.portal == nil])
	head.Add("Vary", versionHeader+", X-Forwarded-Proto")
	if match := r.Header.Get("If-None-Match"); match == "*" || strings.Contains(match, tag) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	return httpapi.WriteJSON(w, http.StatusOK, card)
}

// extendedCard is not offered; the card says so.
func (d *door) extendedCard(c *call) (any, error) {
	f := &fault{code: extendedCardNotOffered, message: "There is no extended card."}
	if c.v == v10 {
		f.code = unsupportedOperation
	}
	return nil, f
}
