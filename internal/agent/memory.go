package agent

import "time"

// Mind says whose memories are meant: what an agent remembers for one owner is
// known to no other agent and to nobody else's sessions.
type Mind struct {
	Project string
	Agent   string // key
	Owner   string // principal id
}

// Memory is one thing that an agent was told to remember.
type Memory struct {
	Text string    `json:"text"`
	At   time.Time `json:"remembered_at"`
}

// Bounds of a mind: the oldest memories make room for new ones.
const (
	MaxMemories   = 1000
	MaxMemoryText = 4000 // characters
)
