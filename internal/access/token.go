package access

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

const (
	tokenPrefix  = "belay_"
	tokenBytes   = 32
	tokenLength  = len(tokenPrefix) + 2*tokenBytes
	shownLength  = 12
	bearerScheme = "bearer "
)

// ErrInvalidToken is wrapped by every refusal of a caller's credentials, be the
// header missing or malformed, the token unknown, expired or revoked.
var ErrInvalidToken = errors.New("invalid token")

// NewToken makes an API token: the secret, to be shown once; its hash, to be
// stored; and its first 12 characters, by which people tell their tokens apart.
func NewToken() (secret string, hash []byte, prefix string) {
	var b [tokenBytes]byte
	rand.Read(b[:])
	secret = tokenPrefix + hex.EncodeToString(b[:])
	return secret, Hash(secret), secret[:shownLength]
}

// Hash returns what is stored of a token: the SHA-256 of all of it. A fast hash
// is right here: nobody can try 2^256 tokens.
func Hash(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}

// bearer returns the token of an Authorization header. The scheme may be in any
// case, as HTTP has it; all else must be exact.
func bearer(header string) (string, error) {
	switch {
	case header == "":
		return "", fmt.Errorf("%w: send the header Authorization: Bearer <token>", ErrInvalidToken)
	case len(header) < len(bearerScheme) || !strings.EqualFold(header[:len(bearerScheme)], bearerScheme):
		return "", fmt.Errorf("%w: the Authorization header must be of the scheme Bearer", ErrInvalidToken)
	}
	token := header[len(bearerScheme):]
	if !wellFormed(token) {
		return "", fmt.Errorf("%w: a token is %s and %d digits of lower-case hex", ErrInvalidToken, tokenPrefix, 2*tokenBytes)
	}
	return token, nil
}

func wellFormed(token string) bool {
	digits, ok := strings.CutPrefix(token, tokenPrefix)
	return ok && len(token) == tokenLength && strings.Trim(digits, "0123456789abcdef") == ""
}
