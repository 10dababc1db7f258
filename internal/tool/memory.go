package tool

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/belayrun/belay/internal/agent"
)

// A MemoryStore keeps memories. Its errors wrap agent.ErrUnavailable where it
// can't be reached.
type MemoryStore interface {
	// Remember adds a memory to a mind, which is bounded.
	Remember(ctx context.Context, m agent.Mind, text string) error
	// Recall returns the memories that fit a query best, at most limit.
	Recall(ctx context.Context, m agent.Mind, query string, limit int) ([]agent.Memory, error)
}

// Memories gives remember and recall, which an agent has for each owner of its
// sessions. Neither can be interrupted: what was begun when a stop came is kept,
// and its result dropped.
type Memories struct{ Store MemoryStore }

const (
	memoryTimeout = 10 * time.Second // of one call, whatever a stop says
	maxRecalled   = 10
)

type rememberInput struct {
	Text string `json:"text" jsonschema:"one fact, in words that can be found again; at most 4000 characters"`
}

type recallInput struct {
	Query string `json:"query" jsonschema:"words to look for; empty: the newest memories"`
}

// recalled is an object, so that there can be more to say one day.
type recalled struct {
	Memories []agent.Memory `json:"memories"`
}

// Open implements Source.
func (s Memories) Open(_ context.Context, session agent.Session, ref agent.ToolRef) ([]agent.Tool, error) {
	m := agent.Mind{Project: session.Project, Agent: session.Agent, Owner: session.Owner}
	remember := func(ctx context.Context, in rememberInput) (string, error) {
		if n := utf8.RuneCountInString(in.Text); n > agent.MaxMemoryText {
			return "", fmt.Errorf("text has %d characters, more than %d: remember less, or in parts", n, agent.MaxMemoryText)
		}
		if strings.TrimSpace(in.Text) == "" {
			return "", errors.New("text is empty: there is nothing to remember")
		}
		return "remembered", memoryAway(s.Store.Remember(ctx, m, in.Text))
	}
	recall := func(ctx context.Context, in recallInput) (recalled, error) {
		found, err := s.Store.Recall(ctx, m, in.Query, maxRecalled)
		for i := range found {
			found[i].At = found[i].At.UTC().Truncate(time.Second)
		}
		return recalled{append([]agent.Memory{}, found...)}, memoryAway(err)
	}
	return choose([]agent.Tool{
		New("remember", "Keeps a fact about or for this user beyond the conversation.", remember, NotAbortable(), Timeout(memoryTimeout)),
		New("recall", "Finds facts that were kept with remember, in this conversation or an earlier one.", recall, NotAbortable(), Timeout(memoryTimeout)),
	}, ref.Names, ref.Source)
}

// memoryAway keeps the database's own words from the model.
func memoryAway(err error) error {
	if errors.Is(err, agent.ErrUnavailable) {
		return errors.New("the memory can't be reached now")
	}
	return err
}
