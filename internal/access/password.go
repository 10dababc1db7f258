package access

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"runtime"
	"strings"

	"golang.org/x/crypto/argon2"
)

// What a password costs to try: the second choice of RFC 9106 in memory, that of
// OWASP in passes.
const (
	argonMemory  = 19 << 10 // KiB
	argonPasses  = 2
	argonThreads = 1
	argonSalt    = 16
	argonKey     = 32
)

// Passwords hashes passwords (argon2id). Only so many are hashed at once as
// there are processors: what waits holds no memory yet. It may be used from many
// goroutines.
type Passwords struct {
	slots chan struct{}
	dummy string // of a password that nobody has
}

// NewPasswords returns a Passwords.
func NewPasswords() *Passwords {
	p := &Passwords{slots: make(chan struct{}, runtime.GOMAXPROCS(0))}
	p.dummy = encode(make([]byte, argonSalt), make([]byte, argonKey))
	return p
}

// Hash returns what is stored of a password: $argon2id$ with its parameters,
// salt and hash. Its only errors are ctx's.
func (p *Passwords) Hash(ctx context.Context, password string) (string, error) {
	salt := make([]byte, argonSalt)
	rand.Read(salt)
	key, err := p.key(ctx, password, salt, argonMemory, argonPasses, argonThreads)
	if err != nil {
		return "", err
	}
	return encode(salt, key), nil
}

// Check reports whether a password is the one of a hash. An empty hash is
// nobody's, and takes as long to be refused as any other.
func (p *Passwords) Check(ctx context.Context, password, hash string) (bool, error) {
	known := hash != ""
	if !known {
		hash = p.dummy
	}
	var version, memory, passes uint32
	var threads uint8
	parts := strings.Split(hash, "$")
	if len(parts) != 6 || parts[1] != "argon2id" {
		return false, fmt.Errorf("stored password: it is not of argon2id")
	}
	if _, err := fmt.Sscanf(parts[2]+" "+parts[3], "v=%d m=%d,t=%d,p=%d", &version, &memory, &passes, &threads); err != nil || version != argon2.Version {
		return false, fmt.Errorf("stored password: its parameters can't be read")
	}
	salt, err := base64.RawStdEncoding.DecodeString(parts[4])
	if err != nil {
		return false, fmt.Errorf("stored password: its salt can't be read")
	}
	want, err := base64.RawStdEncoding.DecodeString(parts[5])
	if err != nil {
		return false, fmt.Errorf("stored password: it can't be read")
	}
	got, err := p.key(ctx, password, salt, memory, passes, threads)
	if err != nil {
		return false, err
	}
	return subtle.ConstantTimeCompare(got, want) == 1 && known, nil
}

func (p *Passwords) key(ctx context.Context, password string, salt []byte, memory, passes uint32, threads uint8) ([]byte, error) {
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-p.slots }()
	return argon2.IDKey([]byte(password), salt, passes, memory, threads, argonKey), nil
}

func encode(salt, key []byte) string {
	b64 := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, argonMemory, argonPasses, argonThreads,
		b64.EncodeToString(salt), b64.EncodeToString(key))
}

// NewPassword makes up a password: 100 random bits in letters and digits that
// nobody confuses, in groups.
func NewPassword() string {
	const letters = "abcdefghjkmnpqrstuvwxyz23456789X" // 32 of them: five bits each
	var b [20]byte
	rand.Read(b[:])
	var out strings.Builder
	for i, x := range b {
		if i > 0 && i%5 == 0 {
			out.WriteByte('-')
		}
		out.WriteByte(letters[x%32])
	}
	return out.String()
}
