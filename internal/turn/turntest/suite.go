package turntest

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/turn"
)

// Harness is a store under test. The store must be empty when it is opened, and
// know the project DefaultProject.
type Harness struct {
	Store turn.Store
	Hints turn.Hints   // nil: hints are not tested
	Other string       // another project that it knows
	Check func() error // what the store itself knows to be broken; nil: nothing to ask
}

// DefaultProject is the project that every migrated database has.
const DefaultProject = "000000000000000000000000"

// ShortTimes are what the suite opens stores with: a node is dead soon, and a
// slow machine does not break a contact by itself.
func ShortTimes() Times {
	return Times{Lease: 600 * time.Millisecond, Gap: 300 * time.Millisecond, Stray: 300 * time.Millisecond}
}

// patience bounds every wait of the suite; nothing asserts a tighter time.
const patience = 10 * time.Second

// storeCase is one promise of a store. An alone one needs a store to itself, as
// it claims, sweeps or declares dead whatever there is; all others share one.
type storeCase struct {
	name  string
	alone bool
	run   func(*fixture)
}

// RunStore is the conformance suite of turn.Store: each subtest is named by the
// outcome that it demands. open returns an empty store with those times and is
// called from the test that it is given, which may run at the same time as others.
//
// Time is never asserted but in one direction: what must happen is polled for,
// what must not is asserted only where less time has gone by, as measured here,
// than it may take.
func RunStore(t *testing.T, open func(t *testing.T, times Times) Harness) {
	cases := slices.Concat(
		takeCases(), postCases(), claimCases(), writeCases(), stopCases(), stopRaceCases(), settleCases(), actionCases(),
		queueCases(), decideCases(), leftCases(), expireCases(), deadCases(), reconcileCases(), treeCases(), nodeCases(), readCases(), hintCases(),
	)
	shared := open(t, ShortTimes())
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := shared
			if c.alone {
				h = open(t, ShortTimes())
			}
			f := newFixture(t, h)
			c.run(f)
			f.verify()
			if c.alone && h.Check != nil {
				if err := h.Check(); err != nil {
					t.Errorf("the store's own check: %v", err)
				}
			}
		})
	}
	if shared.Check != nil {
		t.Cleanup(func() {
			if err := shared.Check(); err != nil {
				t.Errorf("the store's own check: %v", err)
			}
		})
	}
}

// again calls a method of a store until it no longer says that the database is
// away: that is how every one of them may be called.
func again[T any](call func() (T, error)) (T, error) {
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		v, err := call()
		if !errors.Is(err, agent.ErrUnavailable) || time.Now().After(end) {
			return v, err
		}
	}
}

// again0 is again for a method that returns nothing.
func again0(call func() error) error {
	_, err := again(func() (struct{}, error) { return struct{}{}, call() })
	return err
}

// eventually polls until ok, for as long as the suite's patience lasts.
func (f *fixture) eventually(what string, ok func() bool) {
	f.t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			f.t.Fatalf("%s: not within %v", what, patience)
		}
	}
}
