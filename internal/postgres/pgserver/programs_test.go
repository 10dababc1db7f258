package pgserver

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestStartWithoutProgramsSaysWhatToRun(t *testing.T) {
	t.Parallel()
	_, err := Start(t.Context(), Config{BinDir: t.TempDir(), Fast: true})
	if !errors.Is(err, ErrNoPrograms) {
		t.Fatalf("err = %v", err)
	}
	for _, want := range []string{"apt-get install -y postgresql", "brew install postgresql@16"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("%q is more than a line", err)
	}
}

func TestProgramsOfTheDatasVersionAreTakenOrNone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var found []programs
	for _, v := range []string{"99", "98"} {
		bin := filepath.Join(dir, v)
		if err := os.Mkdir(bin, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"initdb", "postgres"} {
			script := "#!/bin/sh\necho 'postgres (PostgreSQL) " + v + ".1 (Debian)'\n"
			if err := os.WriteFile(filepath.Join(bin, name), []byte(script), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		p, err := findPrograms(t.Context(), bin, 0)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, p)
	}
	if got := []int{found[0].major, found[1].major}; !slices.Equal(got, []int{99, 98}) {
		t.Errorf("versions %v", got)
	}
	if _, err := findPrograms(t.Context(), filepath.Join(dir, "99"), 98); !errors.Is(err, ErrNoPrograms) || !strings.Contains(err.Error(), "98") {
		t.Errorf("err = %v, want one that names the version", err)
	}
}
