package pgserver

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

func TestStartKeepsDataBetweenStarts(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(workDir(t), "a", "b")
	s, err := Start(t.Context(), Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	run(t, s.URL(), "CREATE TABLE kept AS SELECT 'here' AS word")
	if got := ask(t, s.TCPURL(), "SHOW fsync"); got != "on" {
		t.Errorf("fsync is %s in a server that is to be durable", got)
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	s = start(t, Config{Dir: dir})
	if got := ask(t, s.TCPURL(), "SELECT word FROM kept"); got != "here" {
		t.Errorf("got %q", got)
	}
}

func TestServerHasSafeAddressesAndPlainOrder(t *testing.T) {
	t.Parallel()
	s := start(t, Config{Settings: map[string]string{"max_connections": "20", "application_name": "it's = here"}})
	for q, want := range map[string]string{
		"SHOW listen_addresses": "127.0.0.1",
		"SHOW max_connections":  "20",
		"SHOW application_name": "it's = here",
		"SHOW timezone":         "UTC",
		"SHOW server_encoding":  "UTF8",
		"SELECT current_user":   "belay",
		"SELECT string_agg(c, '' ORDER BY c) FROM unnest('{b,A,a,B}'::text[]) c": "ABab",
		"SELECT upper('é')": "É",
	} {
		if got := ask(t, s.TCPURL(), q); got != want {
			t.Errorf("%s = %q, want %q", q, got, want)
		}
	}
	if got := ask(t, s.URL(), "SELECT coalesce(inet_client_addr()::text, 'socket')"); got != "socket" {
		t.Errorf("URL leads over %s, want the socket", got)
	}
}

func TestStopLeavesNoProcessAndNoTemporaryDirectory(t *testing.T) {
	t.Parallel()
	s := start(t, Config{})
	busy := make(chan error)
	c := connect(t, s.URL())
	go func() {
		_, err := c.Exec(t.Context(), "SELECT pg_sleep(60)")
		busy <- err
	}()
	if len(processes(s.home.data, 0)) == 0 {
		t.Fatal("the processes of a server are not found")
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	if left := processes(s.home.data, 0); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
	if err := <-busy; err == nil {
		t.Error("a query outlived its server")
	}
	if !missing(s.Dir()) {
		t.Errorf("%s is left", s.Dir())
	}
	if err := s.Stop(); err != nil {
		t.Errorf("to stop again: %v", err)
	}
	if err := s.Restart(t.Context()); !errors.Is(err, ErrStopped) {
		t.Errorf("to restart a stopped server: %v", err)
	}
}

func TestStartOnADirectoryInUseSaysByWhom(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	s := start(t, Config{Dir: dir})
	_, err := Start(t.Context(), Config{Dir: dir, Fast: true})
	if !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), "process "+strconv.Itoa(os.Getpid())) {
		t.Errorf("err = %v, want in use by this process", err)
	}
	run(t, s.URL(), "SELECT 1")
}

func TestSuspendedServerAnswersAfterResumeOnly(t *testing.T) {
	t.Parallel()
	s := start(t, Config{})
	c := connect(t, s.URL())
	if err := s.Suspend(); err != nil {
		t.Fatal(err)
	}
	answer := make(chan error, 1)
	go func() {
		_, err := c.Exec(t.Context(), "SELECT 1")
		answer <- err
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := pgx.Connect(ctx, s.TCPURL()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a new connection: %v, want none while suspended", err)
	}
	select {
	case err := <-answer:
		t.Fatalf("an old connection was answered while suspended: %v", err)
	default:
	}
	if err := s.Resume(); err != nil {
		t.Fatal(err)
	}
	if err := <-answer; err != nil {
		t.Error(err)
	}
}

func TestStopEndsASuspendedServer(t *testing.T) {
	t.Parallel()
	s := start(t, Config{})
	if err := s.Suspend(); err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
}

func TestKillLosesNothingThatWasCommitted(t *testing.T) {
	t.Parallel()
	s := start(t, Config{})
	url := s.TCPURL()
	run(t, url, "CREATE TABLE kept AS SELECT 'here' AS word")
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := s.Suspend(); !errors.Is(err, ErrStopped) {
		t.Errorf("to suspend a killed server: %v", err)
	}
	if err := s.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s.TCPURL() != url {
		t.Errorf("it is at %s after the restart, was at %s", s.TCPURL(), url)
	}
	if got := ask(t, url, "SELECT word FROM kept"); got != "here" {
		t.Errorf("got %q", got)
	}
}

func TestStartUsesThePortThatWasAskedForOrSaysWhyNot(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	_, err = Start(t.Context(), Config{Port: port, Fast: true})
	if err == nil || !strings.Contains(err.Error(), "Address already in use") {
		t.Errorf("err = %v, want that the port is taken", err)
	}
	l.Close()
	s := start(t, Config{Port: port})
	if got := ask(t, s.TCPURL(), "SHOW port"); got != strconv.Itoa(port) {
		t.Errorf("port %s, want %d", got, port)
	}
}

func TestStartThatFailsHasTheServersWordsAndLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	var log bytes.Buffer
	_, err := Start(t.Context(), Config{Dir: dir, Fast: true, Log: &log, Settings: map[string]string{"no_such_setting": "1"}})
	if err == nil || !strings.Contains(err.Error(), "no_such_setting") {
		t.Errorf("err = %v, want the server's own words", err)
	}
	if !strings.Contains(log.String(), "no_such_setting") {
		t.Errorf("the log has %q", log.String())
	}
	if left := processes(filepath.Join(dir, "data"), 0); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
	start(t, Config{Dir: dir}) // and the directory is free
}

func TestStartEndsWithItsContextAndLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, d := range []time.Duration{0, 100 * time.Millisecond, 300 * time.Millisecond} {
		ctx, cancel := context.WithTimeout(t.Context(), d)
		dir := workDir(t)
		s, err := Start(ctx, Config{Dir: dir, Fast: true})
		cancel()
		if err == nil {
			t.Logf("started within %s", d)
			s.Stop()
		}
		awaitNone(t, filepath.Join(dir, "data"))
		awaitNone(t, filepath.Join(dir, "data.new"))
		start(t, Config{Dir: dir})
	}
}

func TestStartTakesNoHalfMadeDataForWhole(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	half := filepath.Join(dir, "data.new")
	if err := os.Mkdir(half, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(half, "PG_VERSION"), []byte("15\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, start(t, Config{Dir: dir}).URL(), "SELECT 1")
}

func TestStartInADirectoryTooDeepForASocketPutsThatElsewhere(t *testing.T) {
	t.Parallel()
	s := start(t, Config{Dir: filepath.Join(workDir(t), strings.Repeat("deep/", 20))})
	run(t, s.URL(), "SELECT 1")
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
	if !missing(s.home.run) {
		t.Errorf("%s is left", s.home.run)
	}
}
