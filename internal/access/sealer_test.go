package access_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/belayrun/belay/internal/access"
)

func sealer(t *testing.T, keys ...string) *access.Sealer {
	t.Helper()
	s, err := access.NewSealer(keys...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSealedSecretOpensForItsContextOnly(t *testing.T) {
	t.Parallel()
	s := sealer(t, access.NewKey())
	for _, plain := range []string{"", "sk-1", strings.Repeat("x", 1<<16)} {
		sealed := s.Seal([]byte(plain), "model/p/a")
		if plain != "" && bytes.Contains(sealed, []byte(plain)) {
			t.Fatal("the secret is readable")
		}
		got, err := s.Open(sealed, "model/p/a")
		if err != nil || string(got) != plain {
			t.Fatalf("Open = %d bytes, %v", len(got), err)
		}
		if _, err := s.Open(sealed, "model/p/b"); !errors.Is(err, access.ErrSealed) {
			t.Errorf("opened for another context: %v", err)
		}
	}
}

func TestSealingTwiceGivesDifferentBytes(t *testing.T) {
	t.Parallel()
	s := sealer(t, access.NewKey())
	if bytes.Equal(s.Seal([]byte("a"), "c"), s.Seal([]byte("a"), "c")) {
		t.Error("equal secrets can be told by their sealed form")
	}
}

func TestEveryChangedByteIsNoticed(t *testing.T) {
	t.Parallel()
	s := sealer(t, access.NewKey())
	sealed := s.Seal([]byte("secret"), "c")
	for i := range sealed {
		bad := bytes.Clone(sealed)
		bad[i] ^= 1
		if _, err := s.Open(bad, "c"); !errors.Is(err, access.ErrSealed) {
			t.Errorf("byte %d: %v", i, err)
		}
	}
	for n := range sealed {
		if _, err := s.Open(sealed[:n], "c"); !errors.Is(err, access.ErrSealed) {
			t.Errorf("first %d bytes: %v", n, err)
		}
	}
}

func TestKeysRotate(t *testing.T) {
	t.Parallel()
	old, fresh := access.NewKey(), access.NewKey()
	before := sealer(t, old).Seal([]byte("s"), "c")
	both := sealer(t, fresh, old)
	if got, err := both.Open(before, "c"); err != nil || string(got) != "s" {
		t.Errorf("the old key opens no more: %v", err)
	}
	after := both.Seal([]byte("s"), "c")
	if both.Current(before, "c") || !both.Current(after, "c") || both.Current(after, "d") || both.Current(nil, "c") {
		t.Error("which key a secret was sealed with is told wrong")
	}
	if _, err := sealer(t, fresh).Open(after, "c"); err != nil {
		t.Errorf("the first key did not seal: %v", err)
	}
	if _, err := sealer(t, old).Open(after, "c"); !errors.Is(err, access.ErrSealed) || !strings.Contains(err.Error(), "BELAY_SECRET_KEY") {
		t.Errorf("err = %v, want one that says what to look at", err)
	}
}

func TestBadKeysAreRefusedAndNeverShown(t *testing.T) {
	t.Parallel()
	canary := strings.Repeat("canary", 5)
	for name, keys := range map[string][]string{
		"none":       nil,
		"empty":      {""},
		"not base64": {canary + "!!"},
		"31 bytes":   {base64.StdEncoding.EncodeToString([]byte(canary + "x"))},
		"33 bytes":   {base64.StdEncoding.EncodeToString([]byte(canary + "xyz"))},
		"second":     {access.NewKey(), canary},
	} {
		_, err := access.NewSealer(keys...)
		if err == nil {
			t.Errorf("%s: accepted", name)
			continue
		}
		for _, k := range append(keys, canary) {
			if k != "" && strings.Contains(err.Error(), k) {
				t.Errorf("%s: the key is in the error", name)
			}
		}
	}
}
