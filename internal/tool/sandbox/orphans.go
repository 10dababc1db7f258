package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// state is what a node keeps of a running command, for the case that it dies
// before the command does.
type state struct {
	Tag    string   `json:"tag"`
	Boot   string   `json:"boot_id"`
	Node   identity `json:"node"`   // the process that runs it
	Leader identity `json:"leader"` // zero: not started yet
}

func (s *Sandbox) stateDir() string { return filepath.Join(s.dir, "nodes", s.node) }

// remember writes a command's state file and returns its path. It is called
// before the command starts, and again when it has a leader.
func (s *Sandbox) remember(tag string, leader identity) (string, error) {
	file := filepath.Join(s.stateDir(), tag+".json")
	self, err := readProc(os.Getpid())
	if err != nil {
		return file, err
	}
	b, err := json.Marshal(state{Tag: tag, Boot: bootID(), Node: self.identity(), Leader: leader})
	if err != nil {
		return file, err
	}
	if err := os.MkdirAll(s.stateDir(), 0o700); err != nil {
		return file, err
	}
	next := file + ".new"
	if err := os.WriteFile(next, b, 0o600); err != nil {
		return file, err
	}
	return file, os.Rename(next, file)
}

// Recover ends what commands of a dead node of this name have left, and returns
// how many commands that were. Commands of a node that lives are not touched.
// What can't be proven gone is an error that wraps agent.ErrUnconfirmed; its
// state is kept for the next time.
func (s *Sandbox) Recover(ctx context.Context) (ended int, err error) {
	if !supported || !filepath.IsLocal(s.node) {
		return 0, nil // no command has run
	}
	entries, err := os.ReadDir(s.stateDir())
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	var errs []error
	for _, e := range entries {
		if ctx.Err() != nil {
			return ended, context.Cause(ctx)
		}
		if !strings.HasSuffix(e.Name(), ".json") {
			continue // one that was being written says nothing that its elder did not
		}
		found, err := s.recover(filepath.Join(s.stateDir(), e.Name()))
		if found {
			ended++
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", e.Name(), err))
		}
	}
	return ended, errors.Join(errs...)
}

// recover ends what one state file tells of, and removes it.
func (s *Sandbox) recover(file string) (found bool, err error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return false, err
	}
	var st state
	if err := json.Unmarshal(b, &st); err != nil || st.Tag == "" {
		return false, os.Remove(file) // a machine that lost power may leave it empty
	}
	if st.Boot != bootID() {
		return false, os.Remove(file)
	}
	owner, err := readProc(st.Node.PID)
	if err == nil && owner.is(st.Node) && !owner.dead() || err != nil && !gone(err) {
		return false, nil
	}
	t := newTree(st.Tag, st.Leader, s.confined)
	t.since = min(t.since, st.Node.Start)
	if p, err := readProc(st.Leader.PID); err != nil || !p.is(st.Leader) {
		t.leader = identity{} // its pid may be another's by now: its group means nothing
	}
	found = !t.settled()
	if _, err := t.end(false); err != nil {
		return found, err
	}
	return found, os.Remove(file)
}
