package sandbox_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/tool"
	"github.com/belayrun/belay/internal/tool/sandbox"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(asNode); dir != "" {
		beNode(dir)
		return
	}
	if _, err := exec.LookPath("bwrap"); err != nil {
		fmt.Fprintln(os.Stderr, "these tests need bubblewrap: run .ci/install test, or make test, which does")
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// env is one session's tools.
type env struct {
	t     *testing.T
	box   *sandbox.Sandbox
	tools map[string]agent.Tool
	mark  string // in the environment of every process that exec starts here
}

// confinements are the ways to run commands; what is promised of a stop holds
// for each.
var confinements = map[string]bool{"bwrap": false, "unconfined": true}

func open(t *testing.T, unconfined bool, src *agent.SandboxSource) *env {
	t.Helper()
	return session(t, sandbox.New(sandbox.Config{Dir: t.TempDir(), Node: "n", Unconfined: unconfined, Log: slog.New(slog.DiscardHandler)}), "s1",
		agent.ToolRef{Source: agent.SourceSandbox, Key: "shell", Sandbox: src})
}

func session(t *testing.T, box *sandbox.Sandbox, id string, ref agent.ToolRef) *env {
	t.Helper()
	list, err := tool.Toolbox{agent.SourceSandbox: box}.Open(t.Context(), agent.Session{ID: id}, []agent.ToolRef{ref})
	if err != nil {
		t.Fatal(err)
	}
	e := &env{t: t, box: box, tools: map[string]agent.Tool{}, mark: rand.Text()}
	for _, x := range list {
		e.tools[x.Spec.Name] = x
	}
	return e
}

func arguments(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// start runs a command line until ctx ends.
func (e *env) start(ctx context.Context, line string, emit func(string)) (sandbox.Result, error) {
	e.t.Helper()
	if emit == nil {
		emit = func(string) {}
	}
	in := sandbox.Exec{Command: line, Env: map[string]string{"MARK": e.mark}, TimeoutMS: new(0)}
	out, err := e.tools["exec"].Stream(ctx, arguments(e.t, in), emit)
	var res sandbox.Result
	if err == nil {
		if err := json.Unmarshal([]byte(out), &res); err != nil {
			e.t.Fatalf("%v in %s", err, out)
		}
	}
	return res, err
}

// exec runs a command line that must end by itself.
func (e *env) exec(line string) sandbox.Result {
	e.t.Helper()
	ctx, cancel := context.WithTimeout(e.t.Context(), 30*time.Second)
	defer cancel()
	res, err := e.start(ctx, line, nil)
	if err != nil {
		e.t.Fatalf("%s: %v", line, err)
	}
	return res
}

// call calls a tool and returns what the model reads.
func (e *env) call(name string, in any) string {
	e.t.Helper()
	out, err := e.tools[name].Call(e.t.Context(), arguments(e.t, in))
	if err != nil {
		return "error: " + err.Error()
	}
	return out
}

// survivors returns the live processes that have a mark in their environment, as
// /proc shows them: the tool is not asked.
func survivors(t *testing.T, mark string) (out []string) {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		b, err := os.ReadFile(dir + "/environ")
		if err != nil || !strings.Contains("\x00"+string(b), "\x00MARK="+mark+"\x00") {
			continue
		}
		stat, err := os.ReadFile(dir + "/stat")
		if err != nil || strings.Contains(string(stat), ") Z ") {
			continue
		}
		out = append(out, string(stat))
	}
	return out
}

func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if f() {
			return
		}
	}
	t.Fatalf("never: %s", what)
}

// trees are command lines that leave processes in many ways, and how many have
// to be there before the stop.
var trees = map[string]struct {
	line string
	want int
}{
	"a command in front":            {"sleep 300; echo x", 2},
	"a pipeline in the background":  {"sleep 300 | cat & wait", 3},
	"in the background":             {"sleep 300 & wait", 2},
	"deaf to TERM":                  {"trap '' TERM; sleep 300; sleep 300", 2},
	"a session of its own":          {"setsid sleep 300 & sleep 300; true", 3},
	"forked twice":                  {"(setsid sh -c 'sleep 300 & sleep 301 & wait' &) ; nohup sleep 302 >/dev/null 2>&1 & sleep 300; true", 5},
	"stopped":                       {"sleep 300 & kill -STOP $!; sleep 300; true", 3},
	"deaf, stopped and in hiding":   {"setsid sh -c 'trap \"\" TERM; kill -STOP $$; sleep 300' & sleep 300; true", 3},
	"many":                          {"for i in $(seq 50); do sleep 300 & done; wait", 51},
	"a zombie":                      {"sleep 0.1 & exec sleep 300", 1},
	"without the mark, by its tree": {"env -i sleep 300; true", 1},
}

func TestAStopLeavesNoProcess(t *testing.T) {
	for name, unconfined := range confinements {
		for _, shell := range []string{"bash", "dash"} {
			for what, c := range trees {
				t.Run(name+"/"+shell+"/"+what, func(t *testing.T) {
					t.Parallel()
					e := open(t, unconfined, nil)
					ctx, stop := context.WithCancelCause(t.Context())
					defer stop(nil)
					cause := errors.New("stopped by a person")
					var ended time.Duration
					var stopped time.Time
					done := make(chan error, 1)
					go func() {
						_, err := e.start(ctx, "exec "+shell+" -c '"+strings.ReplaceAll(c.line, "'", `'\''`)+"'", nil)
						ended = time.Since(stopped)
						done <- err
					}()
					eventually(t, fmt.Sprintf("%d processes", c.want), func() bool { return len(survivors(t, e.mark)) >= c.want })
					stopped = time.Now()
					stop(cause)
					if err := <-done; !errors.Is(err, cause) {
						t.Errorf("err = %v, want the stop's cause", err)
					}
					if left := survivors(t, e.mark); len(left) > 0 {
						t.Errorf("left: %q", left)
					}
					t.Logf("gone after %v", ended)
					if ended > 3*time.Second { // forty of these run at once
						t.Errorf("took %v", ended)
					}
				})
			}
		}
	}
}

// Half a second is the promise for fifty processes. The least of a few: the
// machine has other things to do.
func TestFiftyProcessesAreGoneAtOnce(t *testing.T) {
	for name, unconfined := range confinements {
		e := open(t, unconfined, nil)
		least := time.Hour
		for i := 0; i < 3 || i < 10 && least > 500*time.Millisecond; i++ {
			ctx, stop := context.WithCancel(t.Context())
			done := make(chan time.Time)
			go func() {
				_, _ = e.start(ctx, trees["many"].line, nil)
				done <- time.Now()
			}()
			eventually(t, "its processes run", func() bool { return len(survivors(t, e.mark)) >= trees["many"].want })
			stopped := time.Now()
			stop()
			least = min(least, (<-done).Sub(stopped))
			if left := survivors(t, e.mark); len(left) > 0 {
				t.Errorf("left: %q", left)
			}
		}
		t.Logf("%s: 50 processes gone after %v", name, least)
		if least > 500*time.Millisecond {
			t.Errorf("%s: took %v", name, least)
		}
	}
}

func TestWhatACommandLeavesBehindEndsWithIt(t *testing.T) {
	for name, unconfined := range confinements {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := open(t, unconfined, nil)
			for _, line := range []string{
				"sleep 300 & echo done",                           // holds stdout
				"setsid sleep 300 & sleep 0.1; echo done",         // and is in hiding
				"(nohup sleep 300 >/dev/null 2>&1 &) ; echo done", // holds nothing
				"(trap '' TERM HUP; sleep 300 & sleep 301) & sleep 0.1; echo done",
			} {
				began := time.Now()
				res := e.exec(line)
				if res.ExitCode != 0 || res.Stdout != "done\n" || res.Canceled || res.TimedOut {
					t.Errorf("%s: %+v", line, res)
				}
				if left := survivors(t, e.mark); len(left) > 0 {
					t.Errorf("%s left %q", line, left)
				}
				if d := time.Since(began); d > 2*time.Second {
					t.Errorf("%s took %v", line, d)
				}
			}
		})
	}
}

func TestResultsSayHowACommandEnded(t *testing.T) {
	for name, unconfined := range confinements {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := open(t, unconfined, nil)
			if r := e.exec("echo out; echo err >&2; exit 7"); r != (sandbox.Result{ExitCode: 7, Stdout: "out\n", Stderr: "err\n"}) {
				t.Errorf("exit 7: %+v", r)
			}
			if r := e.exec("no-such-program"); r.ExitCode != 127 || !strings.Contains(r.Stderr, "not found") {
				t.Errorf("not found: %+v", r)
			}
			if r := e.exec("printf 'a\\377b'"); r.Stdout != "a\uFFFDb" {
				t.Errorf("not text: %+v", r)
			}
			r := e.exec("head -c 700000 /dev/zero | tr '\\0' e >&2; sleep 0.2; head -c 700000 /dev/zero | tr '\\0' o; exit 3")
			if n := noted(t, r.Stderr, "e"); n != 700000 || noted(t, r.Stdout, "o") != 700000 || !r.Truncated || r.ExitCode != 3 {
				t.Errorf("1.4 MB: %d+%d truncated %v, exit code %d", len(r.Stdout), len(r.Stderr), r.Truncated, r.ExitCode)
			}
			if r := e.exec("head -c 200000 /dev/zero | tr '\\0' o"); noted(t, r.Stdout, "o") != 200000 || r.Truncated {
				t.Errorf("200 kB: %d truncated %v", len(r.Stdout), r.Truncated)
			}
			var out sandbox.Result
			if err := json.Unmarshal([]byte(e.call("exec", sandbox.Exec{Command: "echo a; sleep 300", TimeoutMS: new(200)})), &out); err != nil {
				t.Fatal(err)
			}
			if out != (sandbox.Result{ExitCode: -1, TimedOut: true, Stdout: "a\n"}) {
				t.Errorf("timeout: %+v", out)
			}
		})
	}
}

// noted is how much a command printed, as the head of it and its note say.
func noted(t *testing.T, text, letter string) int {
	t.Helper()
	head, note, _ := strings.Cut(text, "\n")
	var more int
	if _, err := fmt.Sscanf(note, "[%d more bytes are not shown]", &more); err != nil || strings.Trim(head, letter) != "" || len(head) < 30_000 {
		t.Errorf("a head of %d bytes, and %q", len(head), note)
	}
	return len(head) + more
}

func TestAStopThatComesTooLateChangesNothing(t *testing.T) {
	e := open(t, false, nil)
	cause := errors.New("stopped")
	for i := range 20 {
		ctx, stop := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Duration(20+3*i)*time.Millisecond, func() { stop(cause) })
		res, err := e.start(ctx, "sleep 0.03; echo done", nil)
		switch {
		case err == nil && (res.Canceled || res.ExitCode != 0 || res.Stdout != "done\n"):
			t.Errorf("ended by itself: %+v", res)
		case err != nil && !errors.Is(err, cause):
			t.Errorf("stopped: %v", err)
		}
		stop(nil)
	}
	ctx, stop := context.WithCancelCause(t.Context())
	stop(cause)
	if _, err := e.start(ctx, "touch ran", nil); !errors.Is(err, cause) {
		t.Errorf("stopped before it began: %v", err)
	}
	if out := e.call("read_file", sandbox.ReadFile{Path: "ran"}); !strings.Contains(out, "no such file") {
		t.Errorf("a stopped command ran: %s", out)
	}
}

// A command that ends well although it was told to end is not "canceled"; one
// whose processes were ended under it is, whatever it says of itself.
func TestWhoEndedACommandIsToldTruthfully(t *testing.T) {
	for name, unconfined := range confinements {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for line, want := range map[string]sandbox.Result{
				"trap 'echo tidied; exit 0' TERM; while true; do :; done":         {Stdout: "tidied\n"},
				"trap 'echo tidied; exit 4' TERM; while true; do :; done":         {ExitCode: -1, TimedOut: true, Stdout: "tidied\n"},
				"trap 'echo tidied' TERM; sleep 300; echo and more; exit 0":       {ExitCode: -1, TimedOut: true, Stdout: "tidied\nand more\n"},
				"trap '' TERM; sleep 300; echo and more; sleep 300; echo the end": {ExitCode: -1, TimedOut: true},
			} {
				e := open(t, unconfined, nil)
				var got sandbox.Result
				if err := json.Unmarshal([]byte(e.call("exec", sandbox.Exec{Command: line + " 2>/dev/null", TimeoutMS: new(400)})), &got); err != nil {
					t.Fatal(err)
				}
				if got.Stderr = ""; got != want {
					t.Errorf("%s: %+v, want %+v", line, got, want)
				}
			}
		})
	}
}

func TestOutputIsShownWhileItRuns(t *testing.T) {
	e := open(t, false, nil)
	var mu sync.Mutex
	var shown strings.Builder
	first := make(chan struct{})
	var once sync.Once
	emit := func(text string) {
		mu.Lock()
		defer mu.Unlock()
		shown.WriteString(text)
		if strings.Contains(shown.String(), "ready") {
			once.Do(func() { close(first) })
		}
		if strings.ContainsRune(text, '\uFFFD') || len(text) > 16<<10 {
			t.Errorf("emitted %d bytes: %q", len(text), text)
		}
	}
	done := make(chan sandbox.Result)
	go func() {
		// The bytes of € come one by one.
		res, _ := e.start(t.Context(), `echo ready; until [ -e go ]; do sleep 0.02; done; printf '\342'; sleep 0.15; printf '\202'; sleep 0.15; printf '\254\n'; sleep 0.15; echo end >&2`, emit)
		done <- res
	}()
	<-first
	e.call("write_file", sandbox.WriteFile{Path: "go"})
	res := <-done
	if res.Stdout != "ready\n€\n" || shown.String() != "ready\n€\nend\n" {
		t.Errorf("stdout %q, shown %q", res.Stdout, shown.String())
	}
}

func TestAFloodCostsBoundedMemory(t *testing.T) {
	e := open(t, false, nil)
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Second)
	defer stop()
	shown, calls := 0, 0
	res := make(chan struct{})
	var begin, end runtime.MemStats
	runtime.ReadMemStats(&begin)
	before := rss(t)
	var peak int
	go func() {
		defer close(res)
		_, _ = e.start(ctx, "yes", func(s string) { shown += len(s); calls++ })
	}()
	for over := false; !over; {
		select {
		case <-res:
			over = true
		case <-time.After(50 * time.Millisecond):
			peak = max(peak, rss(t))
		}
	}
	runtime.ReadMemStats(&end)
	allocated := int(end.TotalAlloc-begin.TotalAlloc) >> 10
	t.Logf("%d KiB more at the peak, %d KiB allocated, %d bytes shown in %d pieces", peak-before, allocated, shown, calls)
	if peak-before > 6<<10 || allocated > 8<<10 { // 1 MiB and a little, the runtime's own, and what looking on takes
		t.Errorf("a flood took %d KiB, and %d were allocated", peak-before, allocated)
	}
	if shown > 257<<10 || shown < 64<<10 {
		t.Errorf("%d bytes were shown", shown)
	}
}

func rss(t *testing.T) int {
	t.Helper()
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(strings.Fields(string(b))[1])
	if err != nil {
		t.Fatal(err)
	}
	return n * os.Getpagesize() >> 10
}

func TestRunCode(t *testing.T) {
	e := open(t, false, nil)
	for lang, c := range map[string]struct{ program, code string }{
		"python":     {"/usr/bin/python3", "import os; print(6*7, os.getcwd())"},
		"javascript": {"/usr/bin/node", "console.log(6*7, process.cwd())"},
		"bash":       {"/bin/bash", "echo $((6*7)) $PWD"},
	} {
		if _, err := os.Stat(c.program); err != nil {
			t.Logf("%s is not installed", c.program)
			continue
		}
		if out := e.call("run_code", sandbox.RunCode{Language: lang, Code: c.code}); !strings.Contains(out, `"stdout":"42 /workspace\n"`) {
			t.Errorf("%s: %s", lang, out)
		}
	}
	if out := e.call("run_code", sandbox.RunCode{Language: "cobol"}); !strings.Contains(out, "must be python") {
		t.Errorf("cobol: %s", out)
	}
}

// The whole cost of the sandbox: namespaces, mounts, another user, limits, and
// the proof that nothing is left.
func TestStartCostsLittle(t *testing.T) {
	e := open(t, false, nil)
	// The least of many: the machine has other things to do.
	best := func(enough time.Duration, f func()) time.Duration {
		d := time.Hour
		for i := 0; i < 7 || i < 60 && d > enough; i++ {
			began := time.Now()
			f()
			d = min(d, time.Since(began))
		}
		return d
	}
	alone := best(0, func() { _ = exec.Command("/bin/sh", "-c", "true").Run() })
	boxed := best(60*time.Millisecond, func() { e.exec("true") })
	t.Logf("alone %v, in the sandbox %v", alone, boxed)
	if boxed-alone > 60*time.Millisecond {
		t.Errorf("the sandbox adds %v", boxed-alone)
	}
}
