package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/tool/mcp"
)

// asServer makes this test binary be an MCP server on its standard input and
// output.
const asServer = "BELAY_TEST_IS_MCP_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		path := os.Getenv("LOG")
		in, out := io.Pipe()
		go hear(path, out)
		transport := &sdk.IOTransport{Reader: in, Writer: os.Stdout}
		if err := newServer(path, false).Run(context.Background(), transport); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// hear passes standard input on, and writes down the notifications in it: the
// server may end before it has looked at the last one.
func hear(path string, out *io.PipeWriter) {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 8<<20)
	for in.Scan() {
		if strings.Contains(in.Text(), `"method":"notifications/`) {
			write(path, json.RawMessage(in.Bytes()))
		}
		if _, err := out.Write(append(in.Bytes(), '\n')); err != nil {
			return
		}
	}
	out.Close()
}

// newServer is what testdata/tsserver/server.mjs is, by the official Go SDK.
func newServer(path string, hears bool) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "go", Version: "1"}, nil)
	s.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			if hears && strings.HasPrefix(method, "notifications/") {
				write(path, map[string]any{"method": method, "params": req.GetParams()})
			}
			return next(ctx, method, req)
		}
	})
	text := func(s string) *sdk.CallToolResult {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: s}}}
	}
	type said struct {
		Text string `json:"text"`
	}
	sdk.AddTool(s, &sdk.Tool{Name: "echo", Description: "Says it again."}, func(_ context.Context, _ *sdk.CallToolRequest, in said) (*sdk.CallToolResult, any, error) {
		return text(in.Text), nil, nil
	})
	type pair struct {
		A float64 `json:"a"`
		B float64 `json:"b"`
	}
	type sum struct {
		Sum float64 `json:"sum"`
	}
	sdk.AddTool(s, &sdk.Tool{Name: "sum"}, func(_ context.Context, _ *sdk.CallToolRequest, in pair) (*sdk.CallToolResult, sum, error) {
		return nil, sum{in.A + in.B}, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "fail"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		return nil, nil, errors.New("it is broken")
	})
	sdk.AddTool(s, &sdk.Tool{Name: "picture"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.ImageContent{MIMEType: "image/png", Data: []byte("abc")}}}, nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "grow"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		sdk.AddTool(s, &sdk.Tool{Name: "grown"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
			return text("new"), nil, nil
		})
		return text("done"), nil, nil
	})
	type wait struct {
		Mode string `json:"mode"`
		MS   int    `json:"ms"`
	}
	sdk.AddTool(s, &sdk.Tool{Name: "wait"}, func(ctx context.Context, _ *sdk.CallToolRequest, in wait) (*sdk.CallToolResult, any, error) {
		write(path, map[string]any{"began": in.Mode})
		limit := time.After(time.Duration(in.MS) * time.Millisecond)
		if in.Mode == "ignore" {
			<-limit
			write(path, map[string]any{"ended": in.Mode})
			return text("late"), nil, nil
		}
		select {
		case <-limit:
		case <-ctx.Done():
			write(path, map[string]any{"ended": in.Mode})
			if in.Mode == "mute" {
				<-limit
			}
		}
		return text("waited"), nil, nil
	})
	type steps struct {
		N    int    `json:"n"`
		MS   int    `json:"ms"`
		Says string `json:"says"`
	}
	sdk.AddTool(s, &sdk.Tool{Name: "steps"}, func(ctx context.Context, req *sdk.CallToolRequest, in steps) (*sdk.CallToolResult, any, error) {
		token := req.Params.GetProgressToken()
		for i := 1; i <= in.N && token != nil; i++ {
			p := &sdk.ProgressNotificationParams{ProgressToken: token, Progress: float64(i), Total: float64(in.N), Message: in.Says}
			if err := req.Session.NotifyProgress(ctx, p); err != nil {
				return nil, nil, err
			}
			time.Sleep(time.Duration(in.MS) * time.Millisecond)
		}
		return text("stepped"), nil, nil
	})
	return s
}

var writing sync.Mutex

func write(path string, entry any) {
	writing.Lock()
	defer writing.Unlock()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	_ = json.NewEncoder(f).Encode(entry)
}

// fixture is a server under test.
type fixture struct {
	t       *testing.T
	ref     agent.ToolRef
	log     string // file
	closes  bool   // closing the response stream is how it is told of a stop
	restart func() // ends it and, over HTTP, starts it again in its place
	lines   *lines // that were dialed to it
}

// lines are connections to a server.
type lines struct {
	mu   sync.Mutex
	open map[*line]bool
}

type line struct {
	net.Conn
	of *lines
}

func (l *lines) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	out := &line{conn, l}
	if l.open == nil {
		l.open = make(map[*line]bool)
	}
	l.open[out] = true
	return out, nil
}

// Close is what a client does once it has seen that the other end is gone.
func (l *line) Close() error {
	l.of.mu.Lock()
	delete(l.of.open, l)
	l.of.mu.Unlock()
	return l.Conn.Close()
}

// now returns those that are open.
func (l *lines) now() map[*line]bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.open)
}

// over waits until the client has seen the end of all of some lines: a request
// that is written on one in the moment before is lost, as it is with any server,
// and must not be made twice.
func (l *lines) over(t *testing.T, some map[*line]bool) {
	t.Helper()
	eventually(t, "the client sees that the server is gone", func() bool {
		open := l.now()
		for c := range some {
			if open[c] {
				return false
			}
		}
		return true
	})
}

// fixtures are the servers that every promise is kept with.
var fixtures = map[string]func(*testing.T) *fixture{
	"Go, HTTP":            func(t *testing.T) *fixture { return goHTTP(t, false) },
	"Go, HTTP, stateless": func(t *testing.T) *fixture { return goHTTP(t, true) },
	"Go, command":         goCommand,
	"TypeScript, HTTP":    tsHTTP,
	"TypeScript, command": tsCommand,
}

func each(t *testing.T, f func(t *testing.T, x *fixture)) {
	t.Parallel()
	for name, start := range fixtures {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(t, start(t))
		})
	}
}

func logFile(t *testing.T) string { return filepath.Join(t.TempDir(), "log") }

func goHTTP(t *testing.T, stateless bool) *fixture {
	x := &fixture{t: t, log: logFile(t), closes: stateless, lines: &lines{}}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := listener.Addr().String()
	x.ref = agent.ToolRef{Source: agent.SourceMCP, Key: "k", MCP: &agent.MCPSource{URL: "http://" + addr}}
	var stop func()
	serve := func(l net.Listener) {
		s := newServer(x.log, true)
		h := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &sdk.StreamableHTTPOptions{
			Stateless: stateless, PropagateRequestCancellation: stateless,
		})
		server := &http.Server{Handler: h}
		served := make(chan struct{})
		go func() {
			_ = server.Serve(l)
			close(served)
		}()
		stop = func() {
			_ = server.Close()
			<-served
			for session := range s.Sessions() {
				_ = session.Close()
			}
		}
	}
	serve(listener)
	t.Cleanup(func() { stop() })
	x.restart = func() {
		before := x.lines.now()
		stop()
		x.lines.over(t, before)
		l, err := net.Listen("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		serve(l)
	}
	return x
}

func goCommand(t *testing.T) *fixture {
	x := &fixture{t: t, log: logFile(t)}
	x.ref = agent.ToolRef{Source: agent.SourceMCP, Key: "k", MCP: &agent.MCPSource{
		Command: []string{os.Args[0]}, Env: map[string]string{asServer: "1", "LOG": x.log},
	}}
	x.restart = func() { killMarked(t, x.log) }
	return x
}

func tsCommand(t *testing.T) *fixture {
	needPackages(t, "testdata/tsserver")
	x := &fixture{t: t, log: logFile(t)}
	x.ref = agent.ToolRef{Source: agent.SourceMCP, Key: "k", MCP: &agent.MCPSource{
		Command: []string{"node", "testdata/tsserver/server.mjs"}, Env: map[string]string{"LOG": x.log},
	}}
	x.restart = func() { killMarked(t, x.log) }
	return x
}

func tsHTTP(t *testing.T) *fixture {
	needPackages(t, "testdata/tsserver")
	x := &fixture{t: t, log: logFile(t), lines: &lines{}}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	x.ref = agent.ToolRef{Source: agent.SourceMCP, Key: "k", MCP: &agent.MCPSource{URL: "http://127.0.0.1:" + strconv.Itoa(port) + "/mcp"}}
	var cmd *exec.Cmd
	starts := 0
	start := func() {
		cmd = exec.Command("node", "testdata/tsserver/server.mjs")
		cmd.Env = append(os.Environ(), "PORT="+strconv.Itoa(port), "LOG="+x.log)
		cmd.Stderr = os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		starts++
		x.until("listening", starts)
	}
	stop := func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	start()
	t.Cleanup(func() { stop() })
	x.restart = func() {
		before := x.lines.now()
		stop()
		x.lines.over(t, before)
		start()
	}
	return x
}

// needPackages fails a test at once where the Node packages of a directory are
// not installed whole: what runs there would only be waited for.
func needPackages(t *testing.T, dir string) {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		t.Fatalf("%s needs Node.js: run make test, which installs what tests need", dir)
	}
	// npm writes this file last.
	if _, err := os.Stat(filepath.Join(dir, "node_modules", ".package-lock.json")); err != nil {
		t.Fatalf("%s has no packages: run npm ci in it, or make test, which does", dir)
	}
}

// marked are the living processes that have a text in their environment.
func marked(text string) (pids []int) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, d := range dirs {
		env, err := os.ReadFile(d + "/environ")
		stat, _ := os.ReadFile(d + "/stat")
		if err != nil || !strings.Contains(string(env), text) || strings.Contains(string(stat), ") Z ") {
			continue
		}
		if pid, _ := strconv.Atoi(filepath.Base(d)); pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	return pids
}

func killMarked(t *testing.T, text string) {
	t.Helper()
	pids := marked(text)
	if len(pids) == 0 {
		t.Fatal("no such process")
	}
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// source returns a Source that ends with the test.
func (x *fixture) source() *mcp.Source {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if x.lines != nil {
		transport.DialContext = x.lines.dial
	}
	s := mcp.New(mcp.Config{
		Client: &http.Client{Transport: transport}, AllowStdio: true, Env: []string{"PATH=" + os.Getenv("PATH")},
	})
	x.t.Cleanup(func() {
		s.Close()
		transport.CloseIdleConnections()
	})
	return s
}

// entry is a line of a server's log.
type entry struct {
	Method, Began, Ended string
	Listening            int
	Params               struct {
		RequestID any
		Reason    string
	}
}

func (x *fixture) entries() (out []entry) {
	f, err := os.Open(x.log)
	if err != nil {
		return nil
	}
	defer f.Close()
	for in := bufio.NewScanner(f); in.Scan(); {
		var e entry
		if json.Unmarshal(in.Bytes(), &e) == nil {
			out = append(out, e)
		}
	}
	return out
}

func (x *fixture) count(what string) (n int, last entry) {
	for _, e := range x.entries() {
		if e.Method == what || e.Began == what || e.Ended != "" && "ended "+e.Ended == what || e.Listening > 0 && what == "listening" {
			n++
			last = e
		}
	}
	return n, last
}

// until waits for the nth entry of a kind.
func (x *fixture) until(what string, n int) entry {
	x.t.Helper()
	var last entry
	eventually(x.t, what, func() bool {
		var have int
		have, last = x.count(what)
		return have >= n
	})
	return last
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
