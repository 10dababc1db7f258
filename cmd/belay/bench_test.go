package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/bench"
)

// benchMark is in the environment of a bench and of all that it starts.
const benchMark = "BELAY_TEST_BENCH"

// benchProcess is this test binary as `belay bench`, with temporary files of its
// own and a mark by which its children are found.
func benchProcess(t *testing.T, args ...string) (cmd *exec.Cmd, out, errs *bytes.Buffer, check func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	t.Cleanup(cancel)
	dir, mark := t.TempDir(), agent.NewID()
	out, errs = new(bytes.Buffer), new(bytes.Buffer)
	cmd = exec.CommandContext(ctx, os.Args[0], append([]string{"bench"}, args...)...)
	cmd.Env = append(os.Environ(), asBelay+"=1", "TMPDIR="+dir, benchMark+"="+mark)
	cmd.Stdout, cmd.Stderr = out, errs
	return cmd, out, errs, func() {
		t.Helper()
		if left := marked(mark); len(left) > 0 {
			t.Errorf("processes are left: %q", left)
		}
		if files, _ := filepath.Glob(filepath.Join(dir, "*")); len(files) > 0 {
			t.Errorf("files are left: %q", files)
		}
	}
}

// marked lists the command lines of processes that have the mark, where the
// system tells.
func marked(mark string) (found []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, f := range files {
		if b, _ := os.ReadFile(f); bytes.Contains(b, []byte(benchMark+"="+mark)) {
			line, _ := os.ReadFile(filepath.Join(filepath.Dir(f), "cmdline"))
			found = append(found, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}

func TestBenchStopMeasuresAClusterOfItsOwn(t *testing.T) {
	t.Parallel()
	cmd, out, errs, check := benchProcess(t, "stop", "--n", "3", "--json")
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s%s", err, errs, out)
	}
	check()
	var r bench.Report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	rows := map[string]bench.Row{}
	for _, row := range r.Rows {
		rows[row.Name] = row
	}
	for _, path := range []string{"same node", "other node, push on", "other node, push off"} {
		for _, what := range []string{"stop to provider closed, ", "stop to its answer, ", "stop to terminal event, "} {
			if row := rows[what+path]; row.N != 3 || row.P50 == nil || *row.P50 <= 0 {
				t.Errorf("%s%s: %+v", what, path, row)
			}
		}
	}
	for _, what := range []string{"model alone: abort to closed", "database alone: commit + NOTIFY to heard"} {
		if row := rows[what]; row.N == 0 {
			t.Errorf("%s was not measured", what)
		}
	}
	if row := rows["stops missed"]; row.Value == nil || *row.Value != 0 || len(r.Misses) > 0 {
		t.Errorf("missed: %q", r.Misses)
	}
}

func TestBenchToolsMeasuresAClusterOfItsOwn(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"unconfined", "off"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			cmd, out, errs, check := benchProcess(t, "tools", "--n", "2", "--json")
			cmd.Env = append(cmd.Env, "BELAY_SANDBOX="+how)
			if err := cmd.Run(); err != nil {
				t.Fatalf("%v\n%s%s", err, errs, out)
			}
			check()
			var r bench.Report
			if err := json.Unmarshal(out.Bytes(), &r); err != nil {
				t.Fatalf("%v in %s", err, out)
			}
			rows := map[string]bench.Row{}
			for _, row := range r.Rows {
				rows[row.Name] = row
			}
			for _, what := range []string{"same node", "other node"} {
				if row := rows["HTTP tool: stop to upstream closed, "+what]; row.N != 2 || row.P50 == nil || *row.P50 <= 0 {
					t.Errorf("HTTP tool, %s: %+v", what, row)
				}
			}
			sandboxed := how != "off"
			for _, what := range []string{"sandbox: stop to 50 processes gone, same node", "added by the sandbox", "resident memory gained in 2s, a flood of stdout"} {
				if _, ok := rows[what]; ok != sandboxed {
					t.Errorf("%q is in the report: %v", what, ok)
				}
			}
			if said := strings.Contains(strings.Join(r.Notes, "\n"), "sandbox not measured"); said == sandboxed {
				t.Errorf("notes: %q", r.Notes)
			}
			if row := rows["stops missed"]; row.Value == nil || *row.Value != 0 || len(r.Misses) > 0 {
				t.Errorf("missed: %q", r.Misses)
			}
		})
	}
}

func TestBenchQueueMeasuresAClusterOfItsOwn(t *testing.T) {
	t.Parallel()
	cmd, out, errs, check := benchProcess(t, "queue", "--n", "3", "--backlog", "20", "--json")
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s%s", err, errs, out)
	}
	check()
	var r bench.Report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	rows := map[string]bench.Row{}
	for _, row := range r.Rows {
		rows[row.Name] = row
	}
	for what, n := range map[string]int{"request to model call, background run": 3, "added by the queue": 3, "the same, 20 queued": 20} {
		if row := rows[what]; row.N != n || row.P50 == nil {
			t.Errorf("%s: %+v", what, row)
		}
	}
	if len(r.Ratios) != 1 || *r.Ratios[0].Value <= 0 {
		t.Errorf("ratios %+v", r.Ratios)
	}
}

// signs passes a stream on to a buffer and tells when it has said a word.
type signs struct {
	word string
	seen chan struct{}
	all  *bytes.Buffer
}

func (s *signs) Write(p []byte) (int, error) {
	before := strings.Contains(s.all.String(), s.word)
	s.all.Write(p)
	if !before && strings.Contains(s.all.String(), s.word) {
		close(s.seen)
	}
	return len(p), nil
}

func TestBenchCleansUpWhenInterrupted(t *testing.T) {
	t.Parallel()
	cmd, _, errs, check := benchProcess(t, "load", "--turns", "10", "--window", "2m")
	s := &signs{word: "of streaming", seen: make(chan struct{}), all: errs}
	cmd.Stderr = s
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-s.seen:
	case err := <-ended:
		t.Fatalf("ended by itself: %v\n%s", err, errs)
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(patience):
		t.Fatalf("not ended %s after the interrupt", patience)
	}
	check()
}

func TestBenchRefusesWhatCannotBeMeant(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"stop --n 0":                                "--n must be 1 to 10000, not 0",
		"stop --rate 0":                             "--rate must be 1 to 1000, not 0",
		"stop --cancel-url http://x":                "go with --url",
		"start --url http://x --token=":             "--token",
		"tools --n 0":                               "--n must be 1 to 10000, not 0",
		"tools --url http://x --token abc":          "of the bench's own",
		"queue --n 0":                               "--n must be 1 to 10000, not 0",
		"queue --backlog 0":                         "--backlog must be 1 to 50000, not 0",
		"queue --url http://127.0.0.1:1 --token a":  "--model-listen",
		"load --turns 0":                            "--turns must be 1 to 20000, not 0",
		"load --window 1ms":                         "--window must be 1s to 5m, not 1ms",
		"load --url http://127.0.0.1:1 --token abc": "--model-listen",
	} {
		err := execute(t.Context(), append([]string{"bench"}, strings.Fields(args)...), new(bytes.Buffer), new(bytes.Buffer))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("bench %s: %v, want %q", args, err, want)
		}
	}
}
