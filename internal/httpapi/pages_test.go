package httpapi_test

import (
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi"
	"github.com/belayrun/belay/internal/httpapi/httpapitest"
)

// pages serves a build, and asks it as a browser that takes gzip does.
func pages(t *testing.T, build fstest.MapFS) func(method, path string, headers ...string) (*http.Response, string) {
	t.Helper()
	srv := httptest.NewServer(httpapi.New(httpapi.Config{
		Auth: httpapitest.NewWorld(), InvalidToken: httpapitest.ErrBadToken, Pages: httpapi.NewPages(build, openPortal),
	}))
	t.Cleanup(srv.Close)
	tr := &http.Transport{DisableCompression: true}
	t.Cleanup(tr.CloseIdleConnections)
	c := &http.Client{Transport: tr, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return func(method, path string, headers ...string) (*http.Response, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, srv.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(headers); i += 2 {
			req.Header.Set(headers[i], headers[i+1])
		}
		res, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res, string(b)
	}
}

// openPortal knows the portal help, which example.com may frame.
func openPortal(_ context.Context, slug string) (agent.Portal, error) {
	if slug != "help" {
		return agent.Portal{}, agent.ErrNotFound
	}
	return agent.Portal{Slug: slug, Origins: []string{"https://example.com"}}, nil
}

func TestPagesOfPortals(t *testing.T) {
	t.Parallel()
	get := pages(t, fstest.MapFS{"portal.html": {Data: []byte("<title>Chat</title>")}, "embed.js": {Data: []byte("1")}})
	res, body := get("GET", "/p/help")
	policy := res.Header.Get("Content-Security-Policy")
	if res.StatusCode != http.StatusOK || !strings.Contains(body, "Chat") || !strings.HasSuffix(policy, "frame-ancestors 'self' https://example.com") || res.Header.Get("X-Frame-Options") != "" {
		t.Errorf("%d %s: %s", res.StatusCode, policy, body)
	}
	for path, want := range map[string]int{"/p/other": 404, "/p/": 404, "/p/help/more": 404, "/embed.js": 200, "/embed-markdown.js": 404} {
		if res, _ := get("GET", path); res.StatusCode != want {
			t.Errorf("%s: %d, want %d", path, res.StatusCode, want)
		}
	}
	if res, _ := get("GET", "/embed.js"); res.Header.Get("Access-Control-Allow-Origin") != "*" || res.Header.Get("Cross-Origin-Resource-Policy") != "cross-origin" {
		t.Errorf("embed: %v", res.Header)
	}
}

func TestPagesOfStudio(t *testing.T) {
	t.Parallel()
	script := strings.Repeat("export const x = 1;\n", 200)
	get := pages(t, fstest.MapFS{
		"index.html": {Data: []byte("<!doctype html><title>Belay</title>")}, "assets/a-1234.js": {Data: []byte(script)},
		"assets/.hidden": {Data: []byte("x")}, ".gitkeep": {}, "icon.svg": {Data: []byte("<svg/>")},
	})
	for path, want := range map[string]int{
		"/": 302, "/studio": 200, "/studio/agents/x/sessions/y": 200, "/assets/a-1234.js": 200, "/assets/none.js": 404, "/assets/.hidden": 404,
		"/icon.svg": 200, "/assets/../index.html": 404, "/assets/%2e%2e/index.html": 404, "/nothing": 404,
	} {
		if res, _ := get("GET", path); res.StatusCode != want {
			t.Errorf("%s: %d, want %d", path, res.StatusCode, want)
		}
	}
	page, body := get("GET", "/studio/runs")
	policy := page.Header.Get("Content-Security-Policy")
	for _, want := range []string{"script-src 'self';", "frame-ancestors 'none'", "default-src 'none'", "base-uri 'none'"} {
		if !strings.Contains(policy, want) {
			t.Errorf("the policy has no %s: %s", want, policy)
		}
	}
	if !strings.Contains(body, "<title>Belay") || page.Header.Get("X-Content-Type-Options") != "nosniff" || page.Header.Get("Cache-Control") != "no-cache" {
		t.Errorf("page: %v %s", page.Header, body)
	}
	asset, _ := get("GET", "/assets/a-1234.js", "Accept-Encoding", "gzip")
	if !strings.Contains(asset.Header.Get("Cache-Control"), "immutable") || !strings.HasPrefix(asset.Header.Get("Content-Type"), "text/javascript") {
		t.Errorf("asset: %v", asset.Header)
	}
	if again, _ := get("GET", "/studio", "If-None-Match", page.Header.Get("ETag")); again.StatusCode != http.StatusNotModified {
		t.Errorf("again: %d", again.StatusCode)
	}
	if res, body := get("HEAD", "/studio"); res.StatusCode != http.StatusOK || body != "" {
		t.Errorf("HEAD: %d %q", res.StatusCode, body)
	}
}

func TestAssetsAreZippedForWhoTakesIt(t *testing.T) {
	t.Parallel()
	script := strings.Repeat("export const x = 1;\n", 200)
	get := pages(t, fstest.MapFS{"assets/a.js": {Data: []byte(script)}, "assets/f.woff2": {Data: []byte(script)}})
	res, body := get("GET", "/assets/a.js", "Accept-Encoding", "gzip, br")
	if res.Header.Get("Content-Encoding") != "gzip" || len(body) > len(script)/4 || res.Header.Get("Vary") != "Accept-Encoding" {
		t.Errorf("%v, %d bytes", res.Header, len(body))
	}
	z, err := gzip.NewReader(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(z); err != nil || string(b) != script {
		t.Errorf("unzipped: %v", err)
	}
	for _, path := range []string{"/assets/a.js", "/assets/f.woff2"} {
		if res, body := get("GET", path, "Accept-Encoding", "identity"); res.Header.Get("Content-Encoding") != "" || body != script {
			t.Errorf("%s plain: %v", path, res.Header)
		}
	}
}

func TestWithoutABuildPagesSaySo(t *testing.T) {
	t.Parallel()
	get := pages(t, fstest.MapFS{".gitkeep": {}})
	res, body := get("GET", "/studio")
	if res.StatusCode != http.StatusServiceUnavailable || body != "UI not built: make web\n" || res.Header.Get("Content-Security-Policy") == "" {
		t.Errorf("%d %q", res.StatusCode, body)
	}
	if res, _ := get("GET", "/.gitkeep"); res.StatusCode != http.StatusNotFound {
		t.Errorf(".gitkeep: %d", res.StatusCode)
	}
}
