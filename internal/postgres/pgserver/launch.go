package pgserver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// portTries is how often another free port is tried: between being found free
// and being used, a port may be taken.
const portTries = 5

// launch runs the server; s.port is 0 or the port it must have.
func (s *Server) launch(ctx context.Context) error {
	tries := 1
	if s.port == 0 {
		tries = portTries
	}
	for {
		if tries--; s.cfg.Port == 0 && s.port == 0 {
			p, err := freePort(ctx)
			if err != nil {
				return err
			}
			s.port = p
		}
		p, err := s.run(ctx)
		if err == nil {
			s.proc = p
			return nil
		}
		if tries == 0 || !strings.Contains(err.Error(), "Address already in use") {
			return err
		}
		s.port = 0
	}
}

// run starts a postmaster and waits until it is ready; if it does not get
// there, nothing of it is left.
func (s *Server) run(ctx context.Context) (*process, error) {
	args := []string{"-D", s.home.data, "-p", strconv.Itoa(s.port), "-k", s.home.run}
	set := s.settings()
	for _, name := range slices.Sorted(maps.Keys(set)) {
		args = append(args, "-c", name+"="+set[name])
	}
	p, err := startProcess(s.home.owner, s.cfg.Log, s.bin.path("postgres"), args...)
	if err != nil {
		return nil, err
	}
	if err := s.awaitReady(ctx, p); err != nil {
		return nil, errors.Join(err, p.kill(s.home.data))
	}
	return p, nil
}

func (s *Server) settings() map[string]string {
	set := map[string]string{
		"listen_addresses":  "127.0.0.1",
		"max_connections":   "200",
		"timezone":          "UTC",
		"log_timezone":      "UTC",
		"log_destination":   "stderr",
		"logging_collector": "off",
	}
	if runtime.GOOS == "linux" {
		set["tcp_user_timeout"] = "5000" // ms; a client that is gone holds no locks for longer
	}
	if s.cfg.Fast {
		maps.Copy(set, map[string]string{
			"fsync":            "off",
			"full_page_writes": "off",
			"jit":              "off",
		})
	}
	maps.Copy(set, s.cfg.Settings)
	return set
}

// awaitReady waits until the server takes connections and has its database.
func (s *Server) awaitReady(ctx context.Context, p *process) error {
	for {
		err := s.makeDatabase(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.done:
			return p.ended()
		case <-ctx.Done():
			return fmt.Errorf("%w (%w): %s", context.Cause(ctx), err, p.out)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (s *Server) makeDatabase(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, s.URL())
	if err == nil {
		return conn.Close(ctx)
	}
	const noSuchDatabase = "3D000"
	if pg, ok := errors.AsType[*pgconn.PgError](err); !ok || pg.Code != noSuchDatabase {
		return err
	}
	u, err := url.Parse(s.URL())
	if err != nil {
		return err
	}
	u.Path = "/postgres"
	if conn, err = pgx.Connect(ctx, u.String()); err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, "CREATE DATABASE "+database)
	return err
}

func freePort(ctx context.Context) (int, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
