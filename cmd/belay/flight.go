package main

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/trace"
	"sync"
	"time"

	"github.com/belayrun/belay/internal/turn"
)

// stopBudgets are how long each stage of a stop may take before it is looked
// into: the promise is a second to the provider's closed connection.
var stopBudgets = map[turn.StopStage]time.Duration{
	turn.StageTold:        time.Second,
	turn.StageModelClosed: time.Second,
	turn.StageSettled:     5 * time.Second,
}

// flight keeps the last seconds of the runtime's trace and writes them out when
// a stop takes over its budget, at most once a minute for a process.
type flight struct {
	rec *trace.FlightRecorder
	dir string
	log *slog.Logger

	mu   sync.Mutex
	last time.Time
	wg   sync.WaitGroup
}

func newFlight(dir string, log *slog.Logger) *flight {
	f := &flight{rec: trace.NewFlightRecorder(trace.FlightRecorderConfig{MinAge: 5 * time.Second, MaxBytes: 8 << 20}), dir: dir, log: log}
	if err := f.rec.Start(); err != nil {
		log.Warn("no flight recorder", "err", err) // one is running: two nodes of one process
		f.rec = nil
	}
	return f
}

// over dumps the trace if a stage is over its budget, and reports whether it is.
func (f *flight) over(stage turn.StopStage, d time.Duration) bool {
	if d <= stopBudgets[stage] {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.rec == nil || time.Since(f.last) < time.Minute {
		return true
	}
	f.last = time.Now()
	f.wg.Go(func() { f.dump(stage, d) })
	return true
}

func (f *flight) dump(stage turn.StopStage, d time.Duration) {
	path := filepath.Join(f.dir, fmt.Sprintf("belay-stop-%s.trace", time.Now().UTC().Format("20060102T150405")))
	file, err := os.Create(path)
	if err != nil {
		f.log.Warn("flight recorder", "err", err)
		return
	}
	_, err = f.rec.WriteTo(file)
	if e := file.Close(); err == nil {
		err = e
	}
	f.log.Warn("a stop took over its budget", "stage", stage, "ms", d.Milliseconds(), "trace", path, "err", err)
}

// close ends the recording and waits for a dump.
func (f *flight) close() {
	f.wg.Wait()
	if f.rec != nil {
		f.rec.Stop()
	}
}
