package pgserver

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// owner is the user that the server runs as.
type owner struct {
	uid, gid int
	drop     bool // it is another user than this process's
}

// serverOwner is this process's user, unless that is root.
func serverOwner() (owner, error) {
	if os.Geteuid() != 0 {
		return owner{uid: os.Geteuid(), gid: os.Getegid()}, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.Atoi(u.Uid)
		gid, err2 := strconv.Atoi(u.Gid)
		if err1 == nil && err2 == nil && uid != 0 {
			return owner{uid: uid, gid: gid, drop: true}, nil
		}
	}
	return owner{}, errors.New("postgres does not run as root, and there is no user postgres or nobody: run as another user")
}

func (o owner) credential() *syscall.Credential {
	if !o.drop {
		return nil
	}
	return &syscall.Credential{Uid: uint32(o.uid), Gid: uint32(o.gid)}
}

// mkdir makes a directory that only the owner may use.
func (o owner) mkdir(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if !o.drop {
		return nil
	}
	return os.Chown(dir, o.uid, o.gid)
}

// mkdirAll makes dir and what is missing above it; the owner may pass what it makes.
func (o owner) mkdirAll(dir string) error {
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := o.mkdirAll(filepath.Dir(dir)); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return o.open(dir)
}

// open lets the owner pass a directory of ours.
func (o owner) open(dir string) error {
	if !o.drop || o.mayPass(dir) {
		return nil
	}
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	return os.Chmod(dir, info.Mode().Perm()|0o011)
}

// reaches reports whether the owner may pass every directory above dir that is there.
func (o owner) reaches(dir string) bool {
	for d := filepath.Dir(dir); ; d = filepath.Dir(d) {
		if !o.mayPass(d) {
			return false
		}
		if d == filepath.Dir(d) {
			return true
		}
	}
}

// mayPass looks at the permission bits; what is not there yet may be passed.
func (o owner) mayPass(dir string) bool {
	info, err := os.Stat(dir)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case ok && int(st.Uid) == o.uid:
		return info.Mode()&0o100 != 0
	case ok && int(st.Gid) == o.gid:
		return info.Mode()&0o010 != 0
	}
	return info.Mode()&0o001 != 0
}

// place is where the files that were asked to be in dir are kept; see the
// package doc.
func (o owner) place(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	if o.drop && !o.reaches(dir) {
		dir = filepath.Join("/var/lib/belay", filepath.Base(dir)+"-"+shortHash(dir))
	}
	if err := o.mkdirAll(dir); err != nil {
		return "", fmt.Errorf("make a directory that the user of the server reaches: %w", err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil { // processes are found by it
		return "", err
	}
	return dir, o.open(dir)
}
