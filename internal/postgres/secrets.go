package postgres

import (
	"encoding/base64"
	"errors"
	"strings"

	"github.com/belayrun/belay/internal/agent"
)

// Sealer encrypts secrets that are stored. What is sealed for one context opens
// for that context only. access.Sealer is one.
type Sealer interface {
	Seal(plain []byte, context string) []byte
	Open(sealed []byte, context string) ([]byte, error)
	// Current reports whether it was sealed with the key that Seal uses now.
	Current(sealed []byte, context string) bool
}

// ErrNoSecretKey: a secret cannot be stored or read without a Sealer.
var ErrNoSecretKey = agent.ErrNoSecretKey

func (s *Store) seal(plain, context string) ([]byte, error) {
	if s.sealer == nil {
		return nil, ErrNoSecretKey
	}
	return s.sealer.Seal([]byte(plain), context), nil
}

func (s *Store) unseal(sealed []byte, context string) (string, error) {
	if s.sealer == nil {
		return "", ErrNoSecretKey
	}
	plain, err := s.sealer.Open(sealed, context)
	return string(plain), err
}

// sealedMark begins a secret that is kept sealed within a JSON document. A
// secret of a caller is sealed whatever it begins with.
const sealedMark = "sealed:"

// hide returns the Config as it is stored: its secret sealed for that agent.
func (s *Store) hide(c agent.Config, project, key string) (agent.Config, error) {
	secret := c.Execution.CallbackSecret
	if secret == "" {
		return c, nil
	}
	sealed, err := s.seal(secret, callbackContext(project, key))
	c.Execution.CallbackSecret = sealedText(sealed)
	return c, err
}

// reveal is the reverse of hide.
func (s *Store) reveal(c *agent.Config, project, key string) error {
	encoded, ok := strings.CutPrefix(c.Execution.CallbackSecret, sealedMark)
	if !ok {
		return nil
	}
	sealed, err := base64.RawStdEncoding.DecodeString(encoded)
	if err != nil {
		return errors.New("callback secret: stored damaged")
	}
	c.Execution.CallbackSecret, err = s.unseal(sealed, callbackContext(project, key))
	return err
}

func callbackContext(project, key string) string {
	return "agent/" + project + "/" + key + "/callback_secret"
}

func modelContext(project, key string) string { return "model/" + project + "/" + key + "/api_key" }

func toolContext(project, key string) string { return "tool/" + project + "/" + key + "/secret" }
