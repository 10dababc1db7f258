package websearch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/tool"
	"github.com/belayrun/belay/internal/tool/websearch"
)

// canary is the key; it may be in requests and nowhere else.
const canary = "canary-7f3a"

// safe opens one secret of one project.
type safe struct{ err error }

func (s safe) Secret(_ context.Context, project, key string) (string, error) {
	if s.err != nil {
		return "", s.err
	}
	if project != "p" || key != "search-key" {
		return "", agent.ErrNotFound
	}
	return canary, nil
}

// auths is how each provider is told who asks.
var auths = map[string]*agent.ToolAuth{
	"searxng": nil,
	"brave":   {Type: "header", Header: "X-Subscription-Token", Secret: "search-key"},
	"tavily":  {Type: "bearer", Secret: "search-key"},
}

func ref(provider, base string) agent.ToolRef {
	return agent.ToolRef{Source: "web_search", Key: "web", WebSearch: &agent.WebSearchSource{Provider: provider, BaseURL: base, Auth: auths[provider]}}
}

// open returns web_search as an agent has it, of a provider that handler is.
func open(t *testing.T, provider string, handler http.HandlerFunc) agent.Tool {
	t.Helper()
	server := httptest.NewServer(handler)
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(func() {
		client.CloseIdleConnections()
		server.Close()
	})
	box := tool.Toolbox{agent.SourceWebSearch: websearch.New(websearch.Config{Client: client, Secrets: safe{}})}
	tools, err := box.Open(t.Context(), agent.Session{Project: "p"}, []agent.ToolRef{ref(provider, server.URL+"/below/")})
	if err != nil || len(tools) != 1 || tools[0].Spec.Name != "web_search" || !tools[0].Abortable {
		t.Fatalf("tools %+v, %v", tools, err)
	}
	return tools[0]
}

func TestEachProviderIsAskedAndReadAsItsAPISays(t *testing.T) {
	t.Parallel()
	const page, brew = "https://en.example.org/wiki/Green_tea", "https://tea.example.com/brew"
	for provider, want := range map[string]struct {
		request string
		results []websearch.Result
	}{
		"searxng": {`GET /below/search?format=json&q=green+tea "" "" `, []websearch.Result{
			{Title: "Green tea - Encyclopedia", URL: page, Snippet: "Green tea is a type of tea that is made from Camellia sinensis leaves."},
			{Title: "How to brew green tea", URL: brew + "?t=80&min=3"},
		}},
		"brave": {`GET /below/res/v1/web/search?count=7&q=green+tea&result_filter=web&text_decorations=false "" "` + canary + `" `, []websearch.Result{
			{Title: "Green tea - Encyclopedia", URL: page, Snippet: "Green tea is a type of tea that's made from Camellia sinensis leaves & buds."},
			{Title: "How to brew green tea", URL: brew, Snippet: "At 80 °C."},
		}},
		"tavily": {`POST /below/search "Bearer ` + canary + `" "" {"max_results":7,"query":"green tea","search_depth":"basic"}`, []websearch.Result{
			{Title: "Green tea - Encyclopedia", URL: page, Snippet: "Green tea is a type of tea."},
			{Title: "How to brew green tea", URL: brew, Snippet: "At 80 °C."},
		}},
	} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			search := open(t, provider, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				got := fmt.Sprintf("%s %s %q %q %s", r.Method, r.URL, r.Header.Get("Authorization"), r.Header.Get("X-Subscription-Token"), body)
				if got != want.request || r.Header.Get("Accept") != "application/json" || len(body) > 0 && r.Header.Get("Content-Type") != "application/json" {
					t.Errorf("asked %s, want %s", got, want.request)
				}
				http.ServeFile(w, r, "testdata/"+provider+".json")
			})
			out, err := search.Call(t.Context(), []byte(`{"query":"green tea","max_results":7}`))
			wanted, _ := json.Marshal(map[string]any{"results": want.results})
			if err != nil || out != string(wanted) {
				t.Errorf("found %s, %v, want %s", out, err, wanted)
			}
			out, err = search.Call(t.Context(), []byte(`{"query":"green tea","max_results":7}`))
			if err != nil || strings.Contains(out, canary) {
				t.Errorf("again: %s, %v", out, err)
			}
		})
	}
}

func TestResultsAreBounded(t *testing.T) {
	t.Parallel()
	for arguments, want := range map[string]int{`{"query":"x"}`: 5, `{"query":"x","max_results":1}`: 1, `{"query":"x","max_results":20}`: 20} {
		search := open(t, "searxng", func(w http.ResponseWriter, _ *http.Request) {
			var all []map[string]string
			for i := range 50 {
				all = append(all, map[string]string{"url": fmt.Sprint("http://x/", i), "title": strings.Repeat("ä ", 1000), "content": strings.Repeat("long ", 10_000)})
			}
			_ = json.NewEncoder(w).Encode(map[string]any{"results": all})
		})
		out, err := search.Call(t.Context(), []byte(arguments))
		var got struct{ Results []websearch.Result }
		if err != nil || json.Unmarshal([]byte(out), &got) != nil || len(got.Results) != want || len(out) > 80_000 {
			t.Errorf("%s: %d results in %d bytes, %v", arguments, len(got.Results), len(out), err)
		}
	}
}

func TestArgumentsAreChecked(t *testing.T) {
	t.Parallel()
	search := open(t, "searxng", func(http.ResponseWriter, *http.Request) { t.Error("it was asked") })
	for _, arguments := range []string{
		`{}`, `{"query":""}`, `{"query":7}`, `{"query":"x","max_results":0}`, `{"query":"x","max_results":21}`, `{"query":"x","max_results":1.5}`,
		`{"query":"x","more":1}`, `{"query":"` + strings.Repeat("ä", 401) + `"}`,
	} {
		if err := search.Check([]byte(arguments)); err == nil {
			t.Errorf("%s is accepted", arguments)
		}
	}
	for _, arguments := range []string{`{"query":"x"}`, `{"query":"x","max_results":20}`, `{"query":"` + strings.Repeat("ä", 400) + `"}`} {
		if err := search.Check([]byte(arguments)); err != nil {
			t.Errorf("%s: %v", arguments, err)
		}
	}
	if _, err := search.Call(t.Context(), []byte(`{"query":" "}`)); err == nil {
		t.Error("nothing is looked for")
	}
}

func TestNothingFoundIsNoError(t *testing.T) {
	t.Parallel()
	for provider, body := range map[string]string{"searxng": `{"results":[]}`, "brave": `{"type":"search","query":{}}`, "tavily": `{"results":[],"answer":null}`} {
		search := open(t, provider, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) })
		if out, err := search.Call(t.Context(), []byte(`{"query":"x"}`)); err != nil || out != `{"results":[]}` {
			t.Errorf("%s: %s, %v", provider, out, err)
		}
	}
}

// What goes wrong is told by its status, with nothing of the provider's body,
// the key or the address.
func TestErrorsAreToldByStatus(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		status     int
		body, want string
	}{
		{401, `{"detail":{"error":"Unauthorized: ` + canary + `"}}`, "did not accept its key (status 401)"},
		{403, "forbidden", "does not answer in JSON (status 403)"},
		{422, `{"error":{"code":"SUBSCRIPTION_TOKEN_INVALID"}}`, "did not accept the search (status 422)"},
		{429, "", "allows no more searches now (status 429)"},
		{432, "", "allows no more searches now (status 432)"},
		{500, canary, "failed (status 500)"},
		{503, "", "failed (status 503)"},
		{302, "", "redirect, which is not followed (status 302)"},
		{204, "", "did not accept the search (status 204)"},
		{200, "<html>" + canary, "is not the JSON of a"},
		{200, `{"error":"` + canary + `"}`, "is not the JSON of a"},
		{200, `{"results":"` + canary + `","type":7}`, "is not the JSON of a"},
		{200, `{"results":[],"type":"search","more":"` + strings.Repeat("x", 5<<20) + `"}`, "more than 4 MB"},
	} {
		for provider := range auths {
			search := open(t, provider, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "http://elsewhere.invalid/")
				w.WriteHeader(x.status)
				fmt.Fprint(w, x.body)
			})
			out, err := search.Call(t.Context(), []byte(`{"query":"secret plans"}`))
			if err == nil || !strings.Contains(err.Error(), x.want) || strings.Contains(err.Error(), canary) || out != "" {
				t.Errorf("%s %d: %q, %v, want %q", provider, x.status, out, err, x.want)
			}
		}
	}
	dead := httptest.NewServer(http.NotFoundHandler())
	dead.Close()
	box := websearch.New(websearch.Config{Client: &http.Client{Transport: &http.Transport{}}})
	tools, err := box.Open(t.Context(), agent.Session{}, ref("searxng", dead.URL))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tools[0].Call(t.Context(), []byte(`{"query":"secret plans"}`)); err == nil || !strings.Contains(err.Error(), "can't be reached") || strings.Contains(err.Error(), "plans") {
		t.Errorf("nobody there: %v", err)
	}
}

// The provider sees its connection closed as soon as the call's context ends,
// before its answer and in the middle of it.
func TestAStopClosesTheConnection(t *testing.T) {
	t.Parallel()
	for provider := range auths {
		for _, begun := range []bool{false, true} {
			asked, closed := make(chan struct{}), make(chan time.Time, 1)
			search := open(t, provider, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				if begun {
					fmt.Fprint(w, `{"results":[`)
					_ = http.NewResponseController(w).Flush()
				}
				close(asked)
				<-r.Context().Done()
				closed <- time.Now()
			})
			ctx, cancel := context.WithCancelCause(t.Context())
			why := errors.New("stopped")
			ended := make(chan error, 1)
			go func() {
				_, err := search.Call(ctx, []byte(`{"query":"x"}`))
				ended <- err
			}()
			<-asked
			at := time.Now()
			cancel(why)
			if err := <-ended; !errors.Is(err, why) {
				t.Errorf("%s: ended with %v", provider, err)
			}
			if d := (<-closed).Sub(at); d > time.Second {
				t.Errorf("%s: the provider saw it after %v", provider, d)
			}
		}
	}
}

func TestWhatCannotBeOpenedSaysWhich(t *testing.T) {
	t.Parallel()
	named := ref("searxng", "http://x")
	named.Names = []string{"search"}
	other := ref("tavily", "")
	other.WebSearch.Auth = &agent.ToolAuth{Type: "bearer", Secret: "other-key"}
	away := fmt.Errorf("dial: %w", agent.ErrUnavailable)
	for name, x := range map[string]struct {
		ref     agent.ToolRef
		secrets tool.Secrets
		field   string
	}{
		"no block":         {agent.ToolRef{Source: "web_search"}, safe{}, "web_search"},
		"no such provider": {ref("google", ""), safe{}, "web_search.provider"},
		"no such name":     {named, safe{}, "names[0]"},
		"no secrets":       {ref("brave", ""), nil, "web_search.auth.secret"},
		"no such secret":   {other, safe{}, "web_search.auth.secret"},
		"database away":    {ref("brave", ""), safe{away}, ""},
		"right":            {ref("brave", ""), safe{}, ""},
	} {
		_, err := websearch.New(websearch.Config{Client: http.DefaultClient, Secrets: x.secrets}).Open(t.Context(), agent.Session{Project: "p"}, x.ref)
		f, _ := errors.AsType[*agent.FieldError](err)
		switch {
		case x.field != "" && (f == nil || f.Field != x.field),
			name == "database away" && !errors.Is(err, agent.ErrUnavailable),
			name == "right" && err != nil:
			t.Errorf("%s: %v", name, err)
		}
	}
}
