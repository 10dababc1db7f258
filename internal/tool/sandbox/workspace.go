package sandbox

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
)

const (
	maxRead    = 64 << 10 // bytes of a file in one call
	maxListed  = 1000
	blockBytes = 4096 // what the smallest file costs
)

// workspace is the directory of a session. Its files belong to uid.
type workspace struct {
	dir   string
	uid   int
	quota int64
}

// workspace opens a session's workspace, and makes it where there is none.
func (s *Sandbox) workspace(session string, quota int64) (workspace, error) {
	w := workspace{dir: filepath.Join(s.dir, "workspaces", session), uid: s.uid(session), quota: quota}
	if err := os.MkdirAll(w.dir, 0o700); err != nil {
		return w, err
	}
	if os.Geteuid() != 0 {
		return w, nil
	}
	return w, os.Lchown(w.dir, w.uid, w.uid)
}

// size is what the workspace takes of the disk. What can't be read is not counted.
func (w workspace) size() (n int64) {
	_ = filepath.WalkDir(w.dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return nil
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			n += max(int64(st.Blocks)*512, blockBytes)
		}
		return nil
	})
	return n
}

// local turns a path as a model writes it into one below the workspace.
func local(name string) (string, error) {
	rest := strings.TrimPrefix(path.Clean("/"+strings.TrimPrefix(name, inside)), "/")
	if strings.HasPrefix(name, "/") && name != inside && !strings.HasPrefix(name, inside+"/") || strings.HasPrefix(path.Clean(name), "..") {
		return "", fmt.Errorf("%q is outside of the workspace: give a path relative to it", name)
	}
	if rest == "" {
		return ".", nil
	}
	return rest, nil
}

// in opens the workspace for f, with a path below it. No path leads out, by a
// link neither.
func (w workspace) in(name string, f func(root *os.Root, name string) error) error {
	name, err := local(name)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(w.dir)
	if err != nil {
		return errors.New("the workspace can't be opened")
	}
	defer root.Close()
	return f(root, name)
}

// directory says whether a path is a directory below the workspace.
func (w workspace) directory(name string) (dir string, err error) {
	err = w.in(name, func(root *os.Root, name string) error {
		info, err := root.Stat(name)
		if err == nil && !info.IsDir() {
			err = fmt.Errorf("%s is no directory", name)
		}
		dir = name
		return err
	})
	return dir, err
}

// fileText is what read_file answers.
type fileText struct {
	Size    int64  `json:"size"`                  // of the whole file, in bytes
	Offset  int64  `json:"offset"`                // of content
	Next    int64  `json:"next_offset,omitempty"` // where to go on; 0: this is the end
	Content string `json:"content"`
}

func (w workspace) readFile(name string, offset int64) (out fileText, err error) {
	err = w.in(name, func(root *os.Root, name string) error {
		// Not blocking: a pipe that a command made would never open.
		f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s is no regular file", name)
		}
		b, err := io.ReadAll(io.NewSectionReader(f, max(offset, 0), maxRead))
		if err != nil {
			return err
		}
		out = fileText{Size: info.Size(), Offset: max(offset, 0)}
		if end := out.Offset + int64(len(b)); end < out.Size && len(b) > 0 {
			b = b[:wholeRunes(b)]
			out.Next = out.Offset + int64(len(b))
		}
		out.Content = strings.ToValidUTF8(string(b), "\uFFFD")
		return nil
	})
	return out, err
}

func (w workspace) writeFile(name, content string) (string, error) {
	if w.size()+int64(len(content)) > w.quota {
		return "", fmt.Errorf("the workspace may hold %d MB, and this is more: remove something first", w.quota>>20)
	}
	err := w.in(name, func(root *os.Root, name string) error {
		if err := w.parents(root, path.Dir(name)); err != nil {
			return err
		}
		f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|syscall.O_NONBLOCK, 0o644)
		if err != nil {
			return err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s is no regular file", name)
		}
		if err := f.Truncate(0); err != nil {
			return err
		}
		if _, err := f.WriteString(content); err != nil {
			return err
		}
		return w.own(f)
	})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("wrote %d bytes", len(content)), nil
}

// parents makes the directories above a file.
func (w workspace) parents(root *os.Root, dir string) error {
	if dir == "." {
		return nil
	}
	if _, err := root.Stat(dir); err == nil {
		return nil
	}
	if err := w.parents(root, path.Dir(dir)); err != nil {
		return err
	}
	if err := root.Mkdir(dir, 0o755); err != nil {
		return err
	}
	if os.Geteuid() != 0 {
		return nil
	}
	return root.Lchown(dir, w.uid, w.uid)
}

// own gives a file to the user that commands run as.
func (w workspace) own(f *os.File) error {
	if os.Geteuid() != 0 {
		return nil
	}
	return f.Chown(w.uid, w.uid)
}

// listing is what list_files answers.
type listing struct {
	Files     []entry `json:"files"`
	Truncated bool    `json:"truncated"` // there are more than 1000
}

type entry struct {
	Path string `json:"path"`
	Type string `json:"type"` // file, directory, link or other
	Size int64  `json:"size,omitempty"`
}

func (w workspace) listFiles(dir string) (out listing, err error) {
	out.Files = []entry{}
	err = w.in(dir, func(root *os.Root, dir string) error {
		return fs.WalkDir(root.FS(), dir, func(name string, d fs.DirEntry, err error) error {
			switch {
			case err != nil && name == dir:
				return err
			case err != nil || name == dir && d.IsDir():
				return nil
			case len(out.Files) == maxListed:
				out.Truncated = true
				return fs.SkipAll
			}
			e := entry{Path: name, Type: kind(d.Type())}
			if info, err := d.Info(); err == nil && e.Type == "file" {
				e.Size = info.Size()
			}
			out.Files = append(out.Files, e)
			return nil
		})
	})
	return out, err
}

func kind(m fs.FileMode) string {
	switch {
	case m.IsRegular():
		return "file"
	case m.IsDir():
		return "directory"
	case m&fs.ModeSymlink != 0:
		return "link"
	}
	return "other"
}
