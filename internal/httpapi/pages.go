package httpapi

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"sync"

	"github.com/belayrun/belay/internal/agent"
)

// pagePolicy is what a page may do, and where it may be framed comes after it.
// Styles may be inline: libraries set some; scripts may not.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; font-src 'self'; img-src 'self' data:; " +
	"connect-src 'self'; worker-src 'self'; frame-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors "

// Pages serves the built user interface: Studio at every path below /studio, the
// page of each portal at /p/ and its slug, the embed, and what they load. Without
// a build a page says so with 503, and the API works.
type Pages struct {
	files  fs.FS
	portal func(ctx context.Context, slug string) (agent.Portal, error)

	mu    sync.Mutex
	known map[string]*builtFile
}

// builtFile is a file of the build as it is sent; nil: there is none.
type builtFile struct {
	kind          string
	plain, zipped []byte // zipped: nil where it would be no smaller
	tag           string
}

// NewPages returns the Pages of a build. portal returns the portal of a slug that
// is open, agent.ErrNotFound for any other; nil: there are none.
func NewPages(files fs.FS, portal func(ctx context.Context, slug string) (agent.Portal, error)) *Pages {
	return &Pages{files: files, portal: portal, known: map[string]*builtFile{}}
}

// pagePatterns are the paths that Pages answers.
var pagePatterns = []string{"/", "/studio", "/studio/*", "/p/{slug}", "/assets/*", "/embed.js", "/embed-markdown.js", "/icon.svg"}

// ServeHTTP implements http.Handler.
func (p *Pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	switch name := strings.TrimPrefix(r.URL.Path, "/"); {
	case name == "":
		http.Redirect(w, r, "/studio", http.StatusFound)
	case name == "studio" || strings.HasPrefix(name, "studio/"):
		h.Set("Content-Security-Policy", pagePolicy+"'none'")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		p.page(w, r, "index.html")
	case strings.HasPrefix(name, "p/"):
		p.portalPage(w, r, strings.TrimPrefix(name, "p/"))
	default:
		if strings.HasPrefix(name, "embed") { // other sites' pages load it
			h.Set("Access-Control-Allow-Origin", "*")
			h.Set("Cross-Origin-Resource-Policy", "cross-origin")
		}
		p.asset(w, r, name)
	}
}

// portalPage answers with the page of a portal, which the sites that it names may
// frame, and Studio, to show it.
func (p *Pages) portalPage(w http.ResponseWriter, r *http.Request, slug string) {
	portal, err := agent.Portal{}, error(agent.ErrNotFound)
	if p.portal != nil {
		portal, err = p.portal(r.Context(), slug)
	}
	if err != nil {
		e := Explain(err)
		w.Header().Set("Cache-Control", "no-store")
		http.Error(w, e.Message, e.Status)
		return
	}
	w.Header().Set("Content-Security-Policy", pagePolicy+strings.Join(append([]string{"'self'"}, portal.Origins...), " "))
	p.page(w, r, "portal.html")
}

// page answers with a page of the build, which browsers ask for again each time.
func (p *Pages) page(w http.ResponseWriter, r *http.Request, name string) {
	f := p.file(name)
	if f == nil {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte("UI not built: make web\n"))
		return
	}
	w.Header().Set("Cache-Control", "no-cache")
	f.send(w, r)
}

// asset answers with a file that pages load. One below assets/ has a name that
// changes with it, and is kept for ever.
func (p *Pages) asset(w http.ResponseWriter, r *http.Request, name string) {
	f := p.file(name)
	if f == nil || strings.HasSuffix(name, ".html") {
		w.Header().Set("Cache-Control", "no-store")
		http.Error(w, "There is no such file.", http.StatusNotFound)
		return
	}
	w.Header().Set("Cache-Control", "no-cache")
	if strings.HasPrefix(name, "assets/") {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	f.send(w, r)
}

// file returns a file of the build, nil where there is none.
func (p *Pages) file(name string) *builtFile {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f, ok := p.known[name]; ok {
		return f
	}
	if !fs.ValidPath(name) || strings.HasPrefix(path.Base(name), ".") {
		return nil
	}
	b, err := fs.ReadFile(p.files, name)
	if err != nil {
		return nil
	}
	f := newBuiltFile(name, b)
	p.known[name] = f
	return f
}

func newBuiltFile(name string, b []byte) *builtFile {
	sum := sha256.Sum256(b)
	f := &builtFile{kind: mime.TypeByExtension(path.Ext(name)), plain: b, tag: `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`}
	switch path.Ext(name) { // not left to the machine's own table
	case ".js", ".mjs":
		f.kind = "text/javascript; charset=utf-8"
	case ".css":
		f.kind = "text/css; charset=utf-8"
	case ".html":
		f.kind = "text/html; charset=utf-8"
	case ".svg":
		f.kind = "image/svg+xml"
	case ".woff2":
		f.kind = "font/woff2"
		return f
	}
	var zipped bytes.Buffer
	z, _ := gzip.NewWriterLevel(&zipped, gzip.BestCompression) // the level is valid
	_, err := z.Write(b)
	if err == nil && z.Close() == nil && zipped.Len() < len(b)*9/10 {
		f.zipped = zipped.Bytes()
	}
	return f
}

// send answers with the file.
func (f *builtFile) send(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	if f.kind != "" {
		h.Set("Content-Type", f.kind)
	}
	h.Add("Vary", "Accept-Encoding")
	h.Set("ETag", f.tag)
	if r.Header.Get("If-None-Match") == f.tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	body := f.plain
	if f.zipped != nil && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		body = f.zipped
	}
	_, _ = w.Write(body)
}
