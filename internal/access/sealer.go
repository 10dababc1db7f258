package access

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
)

// What a sealed secret is made of: version, id of the key, nonce, ciphertext
// with its tag.
const (
	sealVersion = 1
	keyIDLength = 4
	keyLength   = 32
	nonceLength = 12
	headLength  = 1 + keyIDLength
	sealedMin   = headLength + nonceLength + 16
)

// ErrSealed: what was stored can't be opened with the keys that are there.
var ErrSealed = errors.New("secret can't be opened")

// A Sealer encrypts secrets that are stored: AES-256-GCM under a key derived
// (HKDF-SHA-256) for each context, so that a secret opens only where it was
// sealed for. It may be used from many goroutines. Rotate by putting the new
// key first and keeping the old ones behind it until all is sealed anew.
type Sealer struct{ keys []sealKey }

type sealKey struct {
	id     [keyIDLength]byte
	secret []byte
}

// NewSealer returns a Sealer that seals with the first key and opens with all.
// A key is 32 bytes in standard base64. Its errors say which key is wrong by
// its place, and never show it.
func NewSealer(keys ...string) (*Sealer, error) {
	if len(keys) == 0 {
		return nil, errors.New("no key to seal secrets with")
	}
	s := &Sealer{}
	for i, k := range keys {
		b, err := base64.StdEncoding.DecodeString(k)
		if err != nil || len(b) != keyLength {
			return nil, fmt.Errorf("key %d must be %d bytes in base64 (openssl rand -base64 %d makes one)", i+1, keyLength, keyLength)
		}
		s.keys = append(s.keys, sealKey{id: keyID(b), secret: b})
	}
	return s, nil
}

// NewKey makes a key for NewSealer.
func NewKey() string {
	var b [keyLength]byte
	rand.Read(b[:])
	return base64.StdEncoding.EncodeToString(b[:])
}

// keyID tells keys apart. It is derived, so it says nothing about the key.
func keyID(secret []byte) [keyIDLength]byte { return [keyIDLength]byte(derive(secret, "belay key id")) }

// Seal encrypts a secret for a context: a name of the place it is kept in, that
// Open must be given again.
func (s *Sealer) Seal(plain []byte, context string) []byte {
	k := s.keys[0]
	head := append([]byte{sealVersion}, k.id[:]...)
	nonce := make([]byte, nonceLength)
	rand.Read(nonce)
	return k.aead(context).Seal(slices.Concat(head, nonce), nonce, plain, head)
}

// Open decrypts what Seal returned for the same context. Any failure wraps
// ErrSealed.
func (s *Sealer) Open(sealed []byte, context string) ([]byte, error) {
	if len(sealed) < sealedMin || sealed[0] != sealVersion {
		return nil, fmt.Errorf("%w: it is not a sealed secret", ErrSealed)
	}
	head, nonce, body := sealed[:headLength], sealed[headLength:headLength+nonceLength], sealed[headLength+nonceLength:]
	known := false
	for _, k := range s.keys {
		if !bytes.Equal(k.id[:], head[1:]) {
			continue
		}
		known = true
		if plain, err := k.aead(context).Open(nil, nonce, body, head); err == nil {
			return plain, nil
		}
	}
	if !known {
		return nil, fmt.Errorf("%w: it was sealed with another key than those in BELAY_SECRET_KEY", ErrSealed)
	}
	return nil, fmt.Errorf("%w: it was changed, or sealed for another place", ErrSealed)
}

// Current reports whether a secret was sealed for the context with the first
// key: it needs no other.
func (s *Sealer) Current(sealed []byte, context string) bool {
	first := Sealer{keys: s.keys[:1]}
	_, err := first.Open(sealed, context)
	return err == nil
}

// aead returns the cipher of a context.
func (k sealKey) aead(context string) cipher.AEAD {
	block, err := aes.NewCipher(derive(k.secret, "belay seal "+context))
	if err != nil {
		panic("access: AES refuses a key of 32 bytes: " + err.Error())
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		panic("access: GCM refuses AES: " + err.Error())
	}
	return gcm
}

func derive(secret []byte, info string) []byte {
	b, err := hkdf.Key(sha256.New, secret, nil, info, keyLength)
	if err != nil {
		panic("access: HKDF refuses 32 bytes: " + err.Error())
	}
	return b
}

// SigningKeys derives keys to sign with for a purpose: the first signs, all
// verify, so that what was signed before a rotation stays good.
func (s *Sealer) SigningKeys(purpose string) [][]byte {
	out := make([][]byte, len(s.keys))
	for i, k := range s.keys {
		out[i] = derive(k.secret, "belay sign "+purpose)
	}
	return out
}
