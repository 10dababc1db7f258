package pgserver

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// home is a server's directory, locked by this process: while the lock is held
// no other Server uses it, and when the process dies the lock is free.
//
//	lock   held by the process that runs the server
//	data/  Postgres's own
//	run/   the socket, unless the path is too long for one
type home struct {
	dir, data, run string
	owner          owner
	lock           *os.File
	temporary      bool // dir goes with the server
}

// maxSocketPath is the longest path of a socket that every system takes.
const maxSocketPath = 100

// openHome makes and locks a server's directory; ErrInUse if it is locked.
func openHome(dir string) (_ *home, err error) {
	o, err := serverOwner()
	if err != nil {
		return nil, err
	}
	h := &home{owner: o, temporary: dir == ""}
	if h.temporary {
		h.dir, err = tempDir(o)
	} else {
		h.dir, err = o.place(dir)
	}
	if err != nil {
		return nil, err
	}
	if h.lock, err = lockFile(filepath.Join(h.dir, "lock")); err != nil {
		return nil, fmt.Errorf("%s: %w", h.dir, err)
	}
	h.data = filepath.Join(h.dir, "data")
	if err := h.makeRun(); err != nil {
		return nil, errors.Join(err, h.close())
	}
	return h, nil
}

// makeRun makes the directory of the socket.
func (h *home) makeRun() (err error) {
	h.run = filepath.Join(h.dir, "run")
	if len(filepath.Join(h.run, ".s.PGSQL.65535.lock")) > maxSocketPath {
		if h.run, err = os.MkdirTemp("/tmp", "belay-run-"); err != nil {
			return err
		}
	}
	return h.owner.mkdir(h.run)
}

// close removes what is temporary, then gives up the lock.
func (h *home) close() error {
	var errs []error
	if h.temporary {
		errs = append(errs, os.RemoveAll(h.dir))
	}
	if h.run != "" {
		errs = append(errs, os.RemoveAll(h.run))
	}
	return errors.Join(append(errs, h.lock.Close())...)
}

// version is the major version of the Postgres that made the data, 0: no data.
func (h *home) version() int {
	b, _ := os.ReadFile(filepath.Join(h.data, "PG_VERSION"))
	return versionIn(string(b))
}

// initialise makes the data directory if there is none. It is built beside its
// place and then moved, so that one that was cut short is never taken for whole.
func (h *home) initialise(ctx context.Context, bin programs, fast bool) error {
	if h.version() != 0 {
		return nil
	}
	fresh := h.data + ".new"
	if err := os.RemoveAll(fresh); err != nil {
		return err
	}
	if err := h.owner.mkdir(fresh); err != nil {
		return err
	}
	args := []string{"-D", fresh, "-U", superuser, "-A", "trust", "-E", "UTF8", "--no-instructions"}
	if fast {
		args = append(args, "--no-sync", "--wal-segsize=1")
	}
	out, err := runAs(ctx, h.owner, bin.path("initdb"), append(args, localeArgs(bin.major)...)...)
	if err != nil {
		return fmt.Errorf("initdb: %w: %s", err, bytes.TrimSpace(out))
	}
	return os.Rename(fresh, h.data)
}

// localeArgs ask for C.UTF-8: byte order, and the letters of Unicode.
func localeArgs(major int) []string {
	switch {
	case major >= 17:
		return []string{"--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"}
	case runtime.GOOS == "linux":
		return []string{"--locale=C.UTF-8"}
	}
	return []string{"--locale=C"}
}

// lockFile takes the lock at path, and writes who holds it for whoever comes second.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			holder, _ := os.ReadFile(path)
			return nil, fmt.Errorf("%w (process %s)", ErrInUse, strings.TrimSpace(string(holder)))
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	err = errors.Join(f.Truncate(0), writeAt(f, strconv.Itoa(os.Getpid())+"\n"))
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func writeAt(f *os.File, s string) error {
	_, err := f.WriteAt([]byte(s), 0)
	return err
}

const (
	memory      = "/dev/shm"
	memoryLeast = 2 << 30 // bytes free in memory, below which a disk is used
	tempPrefix  = "belay-pg-"
)

// tempDir makes a directory for a server that keeps nothing, and removes those
// that killed processes left.
func tempDir(o owner) (string, error) {
	base := os.TempDir()
	var st syscall.Statfs_t
	if err := syscall.Statfs(memory, &st); err == nil && int64(st.Bavail)*int64(st.Bsize) >= memoryLeast {
		base = memory
	}
	if o.drop && !o.reaches(filepath.Join(base, "x")) {
		base = "/tmp"
	}
	sweep(base)
	dir, err := os.MkdirTemp(base, tempPrefix)
	if err != nil {
		return "", err
	}
	return dir, o.open(dir)
}

// sweep removes the temporary directories whose process died. One that is young
// may be about to be locked.
func sweep(base string) {
	dirs, _ := filepath.Glob(filepath.Join(base, tempPrefix+"*"))
	for _, dir := range dirs {
		info, err := os.Lstat(dir)
		if err != nil || !info.IsDir() || time.Since(info.ModTime()) < time.Minute {
			continue
		}
		if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Geteuid() {
			continue
		}
		lock, err := lockFile(filepath.Join(dir, "lock"))
		if err != nil {
			continue
		}
		killAll(processes(filepath.Join(dir, "data"), 0))
		os.RemoveAll(dir) // what stays is tried again by the next
		lock.Close()
	}
}

func shortHash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:4])
}
