package bench

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Limits of tools.
var (
	limitHTTP  = Limit{P99: 50 * time.Millisecond}
	limitTree  = Limit{Max: 500 * time.Millisecond}
	limitShell = Limit{P50: 60 * time.Millisecond}
)

const (
	floodLimit = 2.0 // MiB: what a call keeps is 1 MiB, and a little
	floodTime  = 2 * time.Second
	floods     = 5 // an odd number, the middle one counts
	treeSize   = 50
	maxTrees   = 50               // trees are dear: no more are stopped
	appear     = 20 * time.Second // what has not begun by then won't
)

// ToolsOptions say how much Tools measures, and with what.
type ToolsOptions struct {
	N        int       // stops for each path; of trees, and commands, 50 at most
	Upstream *Upstream // behind the tool hold of Env's agent
	Shell    string    // agent with a sandbox

	// Command runs a command line in a sandbox of this process and hands on its
	// output; nil: there is no sandbox, NoSandbox says why.
	Command   func(ctx context.Context, line string, emit func(string)) error
	NoSandbox string
}

// Tools measures how long a stop takes to end a tool: a request to an HTTP API,
// and a command with all that it started; and what a sandbox costs. The agents'
// model must do as a message of the form "/tool NAME {json}" says.
func Tools(ctx context.Context, env *Env, o ToolsOptions) (*Report, error) {
	t := &toolsRun{o: o, shell: NewClient(env.Token, o.Shell)}
	t.stopRun = stopRun{env: env, client: NewClient(env.Token, env.Agent), report: env.report("tools")}
	defer t.client.Close()
	defer t.shell.Close()
	pair, err := env.Open(ctx, true)
	if err != nil {
		return nil, err
	}
	err = t.measure(ctx, pair)
	if e := pair.Close(); err == nil {
		err = e
	}
	t.watchers.Wait()
	if err != nil {
		return nil, err
	}
	t.report.add(None("stops missed", t.misses))
	return t.report, nil
}

// toolsRun measures tools on one Env. Its stops are those of a stopRun.
type toolsRun struct {
	stopRun
	o        ToolsOptions
	shell    *Client
	watchers sync.WaitGroup
}

func (t *toolsRun) measure(ctx context.Context, pair *Pair) error {
	push, err := t.client.awaitPush(ctx, pair.URLs[1], true)
	if err != nil {
		return err
	}
	if !push {
		t.report.note("the second node does not hear of stops by push")
	}
	if err := t.requests(ctx, pair); err != nil {
		return fmt.Errorf("HTTP tool: %w", err)
	}
	if t.o.Command == nil {
		t.report.note("sandbox not measured, its figures are left out: %s", t.o.NoSandbox)
		return nil
	}
	if err := t.trees(ctx, pair.URLs[0]); err != nil {
		return fmt.Errorf("sandbox: %w", err)
	}
	if err := t.starts(ctx); err != nil {
		return fmt.Errorf("start of a sandbox: %w", err)
	}
	if err := t.memory(ctx, pair.URLs[0]); err != nil {
		return fmt.Errorf("flood: %w", err)
	}
	return nil
}

// requests stops calls of the HTTP tool, through their own node and the other.
func (t *toolsRun) requests(ctx context.Context, pair *Pair) error {
	t.env.Say("stopping %d calls of an HTTP tool through each node", t.o.N)
	for i := range 4 { // not counted: connections are open then, and statements prepared
		var ignore stopTimes
		if err := t.request(ctx, pair.URLs[i/2], pair.URLs[i%2], &ignore); err != nil {
			return err
		}
	}
	var local, other stopTimes
	var alone []time.Duration
	for range t.o.N {
		for i, into := range []*stopTimes{&local, &other} {
			if err := t.request(ctx, pair.URLs[0], pair.URLs[i], into); err != nil {
				return err
			}
		}
		d, err := t.abortRequest(ctx)
		if err != nil {
			return fmt.Errorf("the upstream alone: %w", err)
		}
		alone = append(alone, d)
	}
	t.ended("HTTP tool: stop to upstream closed, same node", local, limitHTTP)
	t.ended("HTTP tool: stop to upstream closed, other node", other, Limit{})
	t.report.add(Times("upstream alone: abort to closed", NewDist(alone), Limit{}))
	return nil
}

// ended reports what was stopped, and when its turn had ended too.
func (t *toolsRun) ended(name string, s stopTimes, l Limit) {
	t.report.add(Times(name, NewDist(s.closed), l), Times("  its terminal event", NewDist(s.ended), Limit{}))
}

// request stops one call of the HTTP tool.
func (t *toolsRun) request(ctx context.Context, node, via string, into *stopTimes) error {
	h := t.o.Upstream.Hold()
	turn, err := t.call(ctx, t.client, node, `/tool hold {"id":`+h.ID+`}`, h.began)
	if err != nil {
		return err
	}
	turn.closed, turn.what = h.closed, "a request to the upstream was"
	t.stop(ctx, turn, via, into)
	return ctx.Err()
}

// call begins a turn whose model calls a tool, and waits until that runs.
func (t *toolsRun) call(ctx context.Context, c *Client, node, input string, began <-chan struct{}) (stopTurn, error) {
	turn, cancel := context.WithCancel(ctx)
	f, err := c.Ask(turn, node, input, Reading{})
	if err != nil {
		cancel()
		return stopTurn{}, err
	}
	select {
	case <-began:
		return stopTurn{f: f, cancel: cancel}, nil
	case <-f.Done():
		err = fmt.Errorf("a turn ended before its tool began: %+v", f.End())
	case <-time.After(appear):
		err = fmt.Errorf("a tool had not begun within %s", appear)
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	cancel()
	return stopTurn{}, err
}

// abortRequest calls the upstream without Belay and drops the call.
func (t *toolsRun) abortRequest(ctx context.Context) (time.Duration, error) {
	h := t.o.Upstream.Hold()
	ctx, cancel := context.WithTimeout(ctx, missed)
	defer cancel()
	one, drop := context.WithCancel(ctx)
	defer drop()
	req, err := http.NewRequestWithContext(one, http.MethodGet, t.env.UpstreamURL+"/hold/"+h.ID, nil)
	if err != nil {
		return 0, err
	}
	t.watchers.Go(func() {
		if resp, err := t.client.http.Do(req); err == nil { // it never answers
			resp.Body.Close()
		}
	})
	select {
	case <-h.began:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	dropped := time.Now()
	drop()
	select {
	case at := <-h.closed:
		return at.Sub(dropped), nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// trees stops commands that have started many processes.
func (t *toolsRun) trees(ctx context.Context, node string) error {
	n := min(t.o.N, maxTrees)
	t.env.Say("stopping %d commands of %d processes", n, treeSize)
	var times, ignore stopTimes
	for i := range n + 1 {
		into := &times
		if i == 0 {
			into = &ignore
		}
		if err := t.tree(ctx, node, into); err != nil {
			return err
		}
	}
	t.ended(fmt.Sprintf("sandbox: stop to %d processes gone, same node", treeSize), times, limitTree)
	return nil
}

// tree stops one command that has started many processes.
func (t *toolsRun) tree(ctx context.Context, node string, into *stopTimes) error {
	mark := rand.Text()
	all, began := newTree(mark), make(chan struct{})
	watch, end := context.WithCancel(ctx)
	defer end()
	t.watchers.Go(func() {
		if all.grown(watch, treeSize) {
			close(began)
		}
	})
	line := `for i in $(seq ` + strconv.Itoa(treeSize) + `); do sleep 300 & done; wait`
	turn, err := t.call(ctx, t.shell, node, fmt.Sprintf(`/tool exec {"command":%q,"env":{"MARK":%q},"timeout_ms":0}`, line, mark), began)
	if err != nil {
		return err
	}
	closed := make(chan time.Time, 1)
	t.watchers.Go(func() {
		if at, ok := all.gone(watch); ok {
			closed <- at
		}
	})
	turn.closed, turn.what = closed, "a command's processes had"
	t.stop(ctx, turn, node, into)
	return ctx.Err()
}

// starts compares the time to a command's first output in a sandbox and without.
func (t *toolsRun) starts(ctx context.Context) error {
	const line = "echo ready"
	n := min(t.o.N, maxTrees)
	t.env.Say("starting %d commands in a sandbox, and as many without", n)
	var with, without []time.Duration
	for i := range n + 1 {
		confined, err := firstOutput(ctx, line, t.o.Command)
		if err != nil {
			return err
		}
		alone, err := firstOutput(ctx, line, plain)
		if err != nil {
			return fmt.Errorf("the command alone: %w", err)
		}
		if i > 0 {
			with, without = append(with, confined), append(without, alone)
		}
	}
	in, alone := NewDist(with), NewDist(without)
	t.report.add(
		Times("command in a sandbox: call to first output", in, Limit{}),
		Times("command alone: start to first output", alone, Limit{}),
		Added("added by the sandbox", in, alone, limitShell),
	)
	return nil
}

// firstOutput runs a command and takes the time to the first that it prints.
func firstOutput(ctx context.Context, line string, run func(context.Context, string, func(string)) error) (first time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, appear)
	defer cancel()
	began := time.Now()
	err = run(ctx, line, func(string) {
		if first == 0 {
			first = time.Since(began)
		}
	})
	if err == nil && first == 0 {
		err = errors.New("a command printed nothing")
	}
	return first, err
}

// plain runs a command line as a child of this process.
func plain(ctx context.Context, line string, emit func(string)) error {
	shell, err := exec.LookPath("bash")
	if err != nil {
		shell = "/bin/sh"
	}
	cmd := exec.CommandContext(ctx, shell, "-c", line)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	text, readErr := bufio.NewReader(out).ReadString('\n')
	emit(text)
	return errors.Join(readErr, cmd.Wait())
}

// floods looks at a node's memory while a command prints nothing, and while
// commands print without end.
func (t *toolsRun) memory(ctx context.Context, node string) error {
	t.env.Say("flooding stdout, %d times %s", floods, floodTime)
	name := fmt.Sprintf("resident memory gained in %s, ", floodTime)
	quiet, _, err := t.gained(ctx, node, fmt.Sprintf("sleep %g", floodTime.Seconds()))
	if err != nil {
		return err
	}
	t.report.add(Value(name+"a command that prints nothing", quiet, "MiB"))
	var gained, held []float64
	for range floods {
		g, h, err := t.gained(ctx, node, fmt.Sprintf("timeout %g yes; true", floodTime.Seconds()))
		if err != nil {
			return err
		}
		gained, held = append(gained, g), append(held, h)
	}
	slices.Sort(gained)
	slices.Sort(held)
	t.report.add(
		Below(name+"a flood of stdout", gained[floods/2], floodLimit, "MiB"),
		Value("  the most of all", gained[floods-1], "MiB"),
		Value("  its live heap", held[floods/2], "MiB"),
	)
	t.report.note("memory that a flood gained is the middle of %d; the node's flight recorder, of 8 MiB at most, fills with it", floods)
	return nil
}

// gained returns by how many MiB a node's resident memory grew at most while a
// command of floodTime ran, and by how many the heap that its garbage
// collections left.
func (t *toolsRun) gained(ctx context.Context, node, line string) (rss, held float64, err error) {
	before, err := t.client.scrape(ctx, node)
	if err != nil {
		return 0, 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, appear)
	defer cancel()
	f, err := t.shell.Ask(ctx, node, fmt.Sprintf(`/tool exec {"command":%q}`, line), Reading{})
	if err != nil {
		return 0, 0, err
	}
	began := time.Now()
	for over := false; !over; {
		select {
		case <-f.Done():
			over = true
		case <-time.After(50 * time.Millisecond):
		}
		now, err := t.client.scrape(ctx, node)
		if err != nil {
			return 0, 0, err
		}
		rss, held = max(rss, now[resident]-before[resident]), max(held, live(now)-live(before))
	}
	if end := f.End(); end.Event != "response.completed" || time.Since(began) < floodTime {
		return 0, 0, fmt.Errorf("after %s it had ended %+v", time.Since(began), end)
	}
	return rss / (1 << 20), held / (1 << 20), nil
}
