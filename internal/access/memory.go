package access

import (
	"sync"
	"time"

	"github.com/belayrun/belay/internal/agent"
)

// key is a secret's hash. Looking it up in a map tells a watcher of the clock
// something about the hash at most, never about the secret.
type key [32]byte

// caller is whom the database confirmed, and when.
type caller struct {
	principal agent.Principal
	expires   time.Time // zero: never
	signIn    *agent.SignIn
	at        time.Time
}

// memory keeps the callers last seen, a bounded number of them. Only a valid
// secret gets in, so a stranger can't push others out.
type memory struct {
	max int

	mu sync.Mutex
	m  map[key]caller
}

func newMemory(limit int) *memory { return &memory{max: limit, m: map[key]caller{}} }

// put remembers a caller; a full memory forgets any other one for it.
func (s *memory) put(k key, c caller) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.m[k]; !ok && len(s.m) >= s.max {
		for victim := range s.m {
			delete(s.m, victim)
			break
		}
	}
	s.m[k] = c
}

func (s *memory) get(k key) (caller, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.m[k]
	return c, ok
}

func (s *memory) drop(k key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.m, k)
}
