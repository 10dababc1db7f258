package agent

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"time"
)

// NewID returns a fresh id of 24 lower-case hex digits: four bytes of Unix
// seconds, then eight random bytes. Ids made in different seconds sort by age;
// nothing may depend on more than that.
func NewID() string {
	var b [12]byte
	binary.BigEndian.PutUint32(b[:4], uint32(time.Now().Unix()))
	rand.Read(b[4:])
	return hex.EncodeToString(b[:])
}
