package pgtest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// short is a wait that ends: the thing is taken for hung.
const short = 200 * time.Millisecond

func TestProxyPassesBothWays(t *testing.T) {
	t.Parallel()
	p := NewProxy(t, DB(t))
	c := connect(t, p.URL())
	if n := count(t, c, "SELECT length(repeat('x', 1000000))"); n != 1000000 {
		t.Errorf("got %d bytes", n)
	}
	var s string
	if err := c.QueryRow(t.Context(), "SELECT repeat('x', 3000000)").Scan(&s); err != nil || len(s) != 3000000 {
		t.Errorf("read %d bytes, %v", len(s), err)
	}
}

func TestProxyCutDropsConnectionsAndRefusesNewUntilRestored(t *testing.T) {
	t.Parallel()
	p := NewProxy(t, DB(t))
	c := connect(t, p.URL())
	p.Cut()
	if _, err := c.Exec(t.Context(), "SELECT 1"); err == nil {
		t.Error("a connection outlived the cut")
	}
	if _, err := pgx.Connect(t.Context(), p.URL()); err == nil {
		t.Error("a connection was made in the cut")
	}
	p.Restore()
	exec(t, connect(t, p.URL()), "SELECT 1")
}

func TestProxyCutEndsAQueryThatRuns(t *testing.T) {
	t.Parallel()
	p := NewProxy(t, DB(t))
	c := connect(t, p.URL())
	time.AfterFunc(short, p.Cut)
	begun := time.Now()
	if _, err := c.Exec(t.Context(), "SELECT pg_sleep(30)"); err == nil || time.Since(begun) > 5*time.Second {
		t.Errorf("err = %v after %s, want one at once", err, time.Since(begun))
	}
}

func TestProxyHangAnswersNothingAndDeliversLate(t *testing.T) {
	t.Parallel()
	p := NewProxy(t, DB(t))
	c := connect(t, p.URL())
	p.Hang()
	done := make(chan error, 2)
	go func() {
		_, err := c.Exec(t.Context(), "CREATE TABLE late ()")
		done <- err
	}()
	go func() {
		c, err := pgx.Connect(t.Context(), p.URL())
		if err == nil {
			err = c.Close(t.Context())
		}
		done <- err
	}()
	select {
	case err := <-done:
		t.Fatalf("it was answered while hung: %v", err)
	case <-time.After(short):
	}
	if n := p.Connections(); n != 2 {
		t.Errorf("%d connections, want 2 that are taken and hung", n)
	}
	p.Restore()
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func TestProxyHangIsLeftByTheClientsDeadlineOnly(t *testing.T) {
	t.Parallel()
	p := NewProxy(t, DB(t))
	p.Hang()
	ctx, cancel := context.WithTimeout(t.Context(), short)
	defer cancel()
	if _, err := pgx.Connect(ctx, p.URL()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("err = %v, want the deadline", err)
	}
}

func TestProxyCutEndsWhatHangs(t *testing.T) {
	t.Parallel()
	p := NewProxy(t, DB(t))
	c := connect(t, p.URL())
	p.Hang()
	time.AfterFunc(short, p.Cut)
	if _, err := c.Exec(t.Context(), "SELECT 1"); err == nil {
		t.Error("a hung connection outlived the cut")
	}
}

func TestProxyReachesAServerByTCP(t *testing.T) {
	t.Parallel()
	s := Server(t)
	p := NewProxy(t, s.TCPURL())
	exec(t, connect(t, p.URL()), "SELECT FROM goose_db_version")
	if err := s.Suspend(); err != nil { // stopped all the same when the test ends
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), short)
	defer cancel()
	if _, err := pgx.Connect(ctx, p.URL()); err == nil {
		t.Error("a suspended server answered")
	}
}
