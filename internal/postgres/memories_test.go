package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/postgres"
	"github.com/belayrun/belay/internal/turn/turntest"
)

func mind(owner string) agent.Mind {
	return agent.Mind{Project: turntest.DefaultProject, Agent: "helper", Owner: owner}
}

// recalls returns the texts that a query finds, in their order.
func (b *bed) recalls(m agent.Mind, query string, limit int) string {
	b.t.Helper()
	found, err := b.Recall(b.ctx, m, query, limit)
	b.check(err)
	var texts []string
	for _, x := range found {
		if x.At.IsZero() || time.Since(x.At) > time.Minute {
			b.t.Errorf("%q was remembered at %v", x.Text, x.At)
		}
		texts = append(texts, x.Text)
	}
	return strings.Join(texts, "; ")
}

func TestMemoriesAreFoundByTheirWords(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	ann := mind("token:ann")
	for _, text := range []string{"Ann likes green tea", "Ann's dog is called Rex", "Green is the colour of Ann's bicycle", "Zürich: 3rd floor"} {
		b.check(b.Remember(b.ctx, ann, text))
	}
	for query, want := range map[string]string{
		"dogs":                         "Ann's dog is called Rex",
		"what tea does she like?":      "Ann likes green tea",
		"green":                        "Green is the colour of Ann's bicycle; Ann likes green tea", // newest first
		"tea green":                    "Ann likes green tea; Green is the colour of Ann's bicycle", // more words first
		"zürich":                       "Zürich: 3rd floor",
		"umbrella":                     "",
		"'; DROP TABLE memories; -- &": "",
		"the":                          "Zürich: 3rd floor; Green is the colour of Ann's bicycle; Ann's dog is called Rex; Ann likes green tea",
		"":                             "Zürich: 3rd floor; Green is the colour of Ann's bicycle; Ann's dog is called Rex; Ann likes green tea",
		"\x00 ) | !( <-> : *":          "Zürich: 3rd floor; Green is the colour of Ann's bicycle; Ann's dog is called Rex; Ann likes green tea",
	} {
		if got := b.recalls(ann, query, 10); got != want {
			t.Errorf("%q finds %q, want %q", query, got, want)
		}
	}
	if got := b.recalls(ann, "green", 1); got != "Green is the colour of Ann's bicycle" {
		t.Errorf("at most one: %q", got)
	}
}

func TestAMindIsNobodyElses(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	b.exec("INSERT INTO projects (id, key) VALUES ('other', 'other')")
	minds := []agent.Mind{mind("token:ann"), mind("token:bob"), {Project: "other", Agent: "helper", Owner: "token:ann"}, {Project: turntest.DefaultProject, Agent: "spy", Owner: "token:ann"}}
	for i, m := range minds {
		b.check(b.Remember(b.ctx, m, fmt.Sprint("the code is ", i)))
	}
	for i, m := range minds {
		if got := b.recalls(m, "code", 10); got != fmt.Sprint("the code is ", i) {
			t.Errorf("%+v recalls %q", m, got)
		}
	}
}

func TestTheSameMemoryIsKeptOnce(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	for _, text := range []string{"tea", "coffee and tea", "tea"} {
		b.check(b.Remember(b.ctx, mind("token:ann"), text))
	}
	if got := b.recalls(mind("token:ann"), "", 10); got != "tea; coffee and tea" {
		t.Errorf("recalls %q", got)
	}
}

func TestTheOldestMemoriesMakeRoom(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	ann, bob := mind("token:ann"), mind("token:bob")
	b.check(b.Remember(b.ctx, bob, "bob's"))
	b.exec(`INSERT INTO memories (project_id, agent_key, owner, text) SELECT $1, 'helper', 'token:ann', 'memory ' || i FROM generate_series(1, $2) i`,
		turntest.DefaultProject, agent.MaxMemories)
	b.check(b.Remember(b.ctx, ann, "one more"))
	if n := b.count("SELECT count(*) FROM memories WHERE owner = 'token:ann'"); n != agent.MaxMemories {
		t.Errorf("%d memories", n)
	}
	if got := b.recalls(ann, "", 1) + "; " + b.recalls(bob, "", 5); got != "one more; bob's" {
		t.Errorf("kept %q", got)
	}
	if n := b.count("SELECT count(*) FROM memories WHERE text = 'memory 1'"); n != 0 {
		t.Error("the oldest was kept")
	}
	if err := b.Remember(b.ctx, ann, strings.Repeat("ä", agent.MaxMemoryText+1)); err == nil {
		t.Error("a text over the limit was kept")
	}
	b.check(b.Remember(b.ctx, ann, strings.Repeat("ä", agent.MaxMemoryText)))
}

func TestAMemoryThatIsAwayIsSaidToBe(t *testing.T) {
	t.Parallel()
	b := newBed(t, postgres.Times{})
	b.exec("BEGIN")
	b.exec("LOCK TABLE memories")
	ctx, cancel := context.WithTimeout(b.ctx, 100*time.Millisecond)
	defer cancel()
	if err := b.Remember(ctx, mind("token:ann"), "tea"); !errors.Is(err, agent.ErrUnavailable) {
		t.Errorf("%v", err)
	}
	b.exec("ROLLBACK")
}
