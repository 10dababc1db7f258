package main

import (
	"errors"
	"fmt"
	"html"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"
)

// site is a page of somebody else's, of another origin, that embeds the demo's
// chat.
type site struct {
	origin string
	belay  atomic.Pointer[string] // where the chat comes from; nil: not known yet
	server http.Server
	served chan struct{}
}

// startSite takes the port after the nodes', or any where that is in use. What it
// started has ended when stop returns.
func startSite(after string, log *slog.Logger) (*site, error) {
	l, err := net.Listen("tcp", portAfter(after))
	if err != nil {
		l, err = net.Listen("tcp", "127.0.0.1:0")
	}
	if err != nil {
		return nil, err
	}
	s := &site{origin: "http://" + l.Addr().String(), served: make(chan struct{})}
	s.server = http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug)}
	go func() {
		defer close(s.served)
		if err := s.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			log.Warn("the demo's site", "err", err)
		}
	}()
	return s, nil
}

func portAfter(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	n, perr := strconv.Atoi(port)
	if err != nil || perr != nil || n == 0 {
		return "127.0.0.1:0"
	}
	return net.JoinHostPort(host, strconv.Itoa(n+1))
}

func (s *site) stop() {
	_ = s.server.Close()
	<-s.served
}

// ServeHTTP implements http.Handler.
func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	belay := s.belay.Load()
	if r.URL.Path != "/" || belay == nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprintf(w, sitePage, html.EscapeString(*belay))
}

const sitePage = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>A shop for ropes</title>
<style>body { font: 17px/1.6 Georgia, serif; max-width: 40rem; margin: 4rem auto; padding: 0 1rem }</style>
<h1>A shop for ropes</h1>
<p>This page is of another origin. One line puts the chat in its corner; it talks to the portal <code>demo</code>.</p>
<script src="%s/embed.js" data-portal="demo" async></script>
</html>
`
