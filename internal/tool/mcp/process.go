package mcp

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/belayrun/belay/internal/agent"
)

const (
	// exitGrace is how long a command may take to end by itself when its input
	// was closed, and again when it was asked to end.
	exitGrace = 500 * time.Millisecond
	// killPatience is how long the kernel may take to end what was killed.
	killPatience = 3 * time.Second
	// maxSaid is how much of a command's standard error is kept, in bytes.
	maxSaid = 2 << 10
	// markName is the variable by which a command's descendants are known, even
	// those that left its process group.
	markName = "BELAY_MCP_SERVER"
)

// process carries a session over a command's standard input and output. The
// command leads a process group; it is not reaped before the group is gone, so
// that the group's number means nobody else.
type process struct {
	link *link
	log  *slog.Logger
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  io.ReadCloser
	said tail
	mark string
	once sync.Once
}

// start runs a command.
func start(m agent.MCPSource, l *link) (*process, error) {
	p := &process{link: l, log: l.source.cfg.Log, mark: markName + "=" + rand.Text()}
	p.cmd = exec.Command(m.Command[0], m.Command[1:]...)
	p.cmd.Env = slices.Concat(l.source.cfg.Env, pairs(m.Env), []string{p.mark})
	p.cmd.Stderr = &p.said
	p.cmd.WaitDelay = exitGrace
	p.cmd.SysProcAttr = ownGroup()
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if p.out, err = p.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	return p, nil
}

func pairs(env map[string]string) (out []string) {
	for _, k := range slices.Sorted(maps.Keys(env)) {
		out = append(out, k+"="+env[k])
	}
	return out
}

func (p *process) transport() sdk.Transport {
	return &sdk.IOTransport{Reader: p.out, Writer: p, MaxLineLength: maxAnswer}
}

// Write implements io.Writer, a message at a time.
func (p *process) Write(message []byte) (int, error) {
	if cancels(message) {
		defer p.link.owed.Add(-1)
	}
	return p.in.Write(message)
}

// Close implements io.Closer.
func (p *process) Close() error { return p.in.Close() }

// hangUp makes reads and writes of the session fail; end must follow.
func (p *process) hangUp() {
	_ = p.in.Close()
	_ = p.out.Close()
}

// end implements carrier. What is left when it returns is said in the log.
func (p *process) end() { p.once.Do(p.kill) }

func (p *process) kill() {
	_ = p.in.Close() // it may be closed already
	if !p.goneWithin(exitGrace) {
		p.signal(syscall.SIGTERM)
		p.signal(syscall.SIGCONT)
		if !p.goneWithin(exitGrace) {
			for end := time.Now().Add(killPatience); time.Now().Before(end); {
				p.signal(syscall.SIGKILL)
				if p.goneWithin(exitGrace / 10) {
					break
				}
			}
		}
	}
	if left := survivors(p.cmd.Process.Pid, p.mark); len(left) > 0 {
		p.log.Error("processes of an MCP server could not be ended", "pids", left)
	}
	_ = p.out.Close()
	_ = p.cmd.Wait() // how it ended matters to nobody now
}

// signal reaches the whole group and whoever left it.
func (p *process) signal(s syscall.Signal) {
	_ = syscall.Kill(-p.cmd.Process.Pid, s) // an error is that nobody is left
	for _, pid := range survivors(p.cmd.Process.Pid, p.mark) {
		_ = syscall.Kill(pid, s)
	}
}

func (p *process) goneWithin(d time.Duration) bool {
	for end := time.Now().Add(d); ; time.Sleep(5 * time.Millisecond) {
		if len(survivors(p.cmd.Process.Pid, p.mark)) == 0 {
			return true
		}
		if time.Now().After(end) {
			return false
		}
	}
}

// explain adds what the command said on its standard error to why it can't be
// used.
func (p *process) explain(err error) error {
	if errors.Is(err, io.EOF) {
		err = errors.New("the command ended")
	}
	if said := p.said.String(); said != "" {
		return fmt.Errorf("%w; the command said: %s", err, said)
	}
	return err
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	if over := len(t.text) - maxSaid; over > 0 {
		t.text = append(t.text[:0], t.text[over:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(strings.ToValidUTF8(string(t.text), "\uFFFD"))
}
