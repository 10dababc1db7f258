package agent

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"strings"
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

// postPrefix is what the ids of postings begin with.
const postPrefix = "post_"

// NewPostID returns a fresh id of a posting.
func NewPostID() string { return postPrefix + NewID() }

// HistoryID is what a turn's history is posted under.
func HistoryID(turn string) string { return postPrefix + turn }

// Run returns the turn that wrote the event; empty where none did, because it was
// posted.
func (e Event) Run() string {
	if strings.HasPrefix(e.Turn, postPrefix) {
		return ""
	}
	return e.Turn
}
