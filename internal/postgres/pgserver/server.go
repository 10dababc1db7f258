// Package pgserver runs a private Postgres server from the Postgres programs
// that are installed on the machine: the database of a first try of Belay, and
// of its tests. It listens on 127.0.0.1 and on a Unix socket, and trusts who
// reaches them: any user of the machine is its superuser over TCP. It is not
// for data that another user of the machine must not read.
//
// The server lives as long as the process that started it. On Linux the kernel
// ends it when that process dies, however it dies; elsewhere a server that
// outlived its process is ended by the next Start on its directory.
//
// # As root
//
// Postgres refuses to run as root. A root process therefore runs it as the user
// postgres, or nobody where there is none, and gives that user the directories
// that the server writes. No directory above Config.Dir that was there before
// is changed: if that user cannot pass one of them (root's home, mostly), the
// server's files are kept below /var/lib/belay instead, in a directory named
// after Config.Dir. Server.Dir tells where they are.
package pgserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"sync"
	"time"
)

// Errors to branch on.
var (
	// ErrNoPrograms: initdb and postgres were not found. Its text says what to run.
	ErrNoPrograms = errors.New(
		"no Postgres programs found: run `apt-get install -y postgresql` or `brew install postgresql@16`")
	// ErrInUse: another process, or another Server of this one, runs a server there.
	ErrInUse = errors.New("directory is in use by another server")
	// ErrStopped: the Server was stopped for good.
	ErrStopped = errors.New("server is stopped")
)

// The one role and the database that every server has.
const (
	superuser = "belay"
	database  = "belay"
)

// startTimeout bounds a start. It leaves room for the recovery of a server that
// was killed at work.
const startTimeout = 60 * time.Second

// Config says how a server is run.
type Config struct {
	// Dir keeps the data between starts, and is made where it is missing. Empty:
	// a fresh directory, in memory (/dev/shm) if that has room, that Stop removes.
	Dir string
	// Port on 127.0.0.1. 0: a free one, another at each Start.
	Port int
	// Settings are Postgres settings, over the defaults of this package.
	Settings map[string]string
	// Log gets what the server prints, line by line or in larger pieces, from one
	// goroutine at a time. Nil: nowhere. The end of it is in the error of a failed start.
	Log io.Writer
	// Fast gives up durability for speed: nothing is forced to disk, and a crash
	// of the machine may leave Dir unusable. What was committed does outlive a
	// Kill, so tests may hold their subject to it.
	Fast bool
	// BinDir is the directory of initdb and postgres. Empty: they are looked for
	// in PATH, in /usr/lib/postgresql and where Homebrew has them; newest first,
	// or of the version that made the data in Dir.
	BinDir string
}

// Server is a running private Postgres server. Its methods may be called from
// any goroutine.
type Server struct {
	cfg  Config
	home *home
	bin  programs
	port int

	mu      sync.Mutex // held for whole operations: they exclude each other
	proc    *process   // nil: none runs
	stopped bool
}

// Start runs a server and returns once it takes connections. Its context bounds
// the start only, which has 60 s at most; the server runs until Stop. It fails
// with ErrNoPrograms, with ErrInUse, or with the server's own last words, and
// then leaves no process.
func Start(ctx context.Context, cfg Config) (_ *Server, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, errors.New("not ready in time"))
	defer cancel()
	h, err := openHome(cfg.Dir)
	if err != nil {
		return nil, fmt.Errorf("start postgres: %w", err)
	}
	s := &Server{cfg: cfg, home: h, port: cfg.Port}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.close())
		}
	}()
	if s.bin, err = findPrograms(ctx, cfg.BinDir, h.version()); err != nil {
		return nil, fmt.Errorf("start postgres: %w", err)
	}
	if err := endStrays(ctx, h); err != nil {
		return nil, fmt.Errorf("start postgres in %s: %w", h.dir, err)
	}
	if err := h.initialise(ctx, s.bin, cfg.Fast); err != nil {
		return nil, fmt.Errorf("start postgres in %s: %w", h.dir, err)
	}
	if err := s.launch(ctx); err != nil {
		return nil, fmt.Errorf("start postgres in %s: %w", h.dir, err)
	}
	return s, nil
}

// URL is the server's database, as its superuser, over the Unix socket: the
// faster way in.
func (s *Server) URL() string {
	q := url.Values{"host": {s.home.run}, "port": {strconv.Itoa(s.port)}}
	u := url.URL{Scheme: "postgres", User: url.User(superuser), Path: "/" + database, RawQuery: q.Encode()}
	return u.String()
}

// TCPURL is the same database over 127.0.0.1.
func (s *Server) TCPURL() string {
	return fmt.Sprintf("postgres://%s@127.0.0.1:%d/%s?sslmode=disable", superuser, s.port, database)
}

// Dir is where the server's files are: Config.Dir, unless that was empty or out
// of reach for the user that the server runs as.
func (s *Server) Dir() string { return s.home.dir }

// Stop ends the server and waits until every one of its processes is gone:
// clients are disconnected and the data written out; a server that does not
// manage this in 10 s is ended at once, and Stop returns an error that says so.
// What it has committed is kept in both cases. Stopping again does nothing.
func (s *Server) Stop() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return nil
	}
	s.stopped = true
	return errors.Join(s.end(), s.home.close())
}

// end ends the running process, if there is one.
func (s *Server) end() error {
	if s.proc == nil {
		return nil
	}
	p := s.proc
	s.proc = nil
	resume(p, s.home.data)
	return p.stop(s.home.data)
}
