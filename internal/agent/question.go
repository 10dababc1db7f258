package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Question is what a model asks of a person: the arguments of an action of type
// ActionQuestion.
type Question struct {
	Question      string   `json:"question" jsonschema:"what to ask, in one or two plain sentences"`
	Options       []string `json:"options,omitempty" jsonschema:"the answers to choose from; none: the person writes one"`
	AllowFreeText *bool    `json:"allow_free_text,omitempty" jsonschema:"whether an answer may be other than the options; default true without options, else false"`
}

// maxOptions bounds what a person is asked to choose from.
const maxOptions = 50

// FreeText reports whether any answer will do.
func (q Question) FreeText() bool {
	if q.AllowFreeText == nil {
		return len(q.Options) == 0
	}
	return *q.AllowFreeText
}

// Validate returns the first fault of a question as a FieldError: one that
// nobody could answer is not asked.
func (q Question) Validate() error {
	v := checks{}
	v.that(strings.TrimSpace(q.Question) != "", "question", "is required: what to ask")
	v.that(len(q.Options) <= maxOptions, "options", fmt.Sprintf("must be %d or fewer", maxOptions))
	for i, o := range q.Options {
		v.that(strings.TrimSpace(o) != "", fmt.Sprintf("options[%d]", i), "must not be empty")
		v.that(!slices.Contains(q.Options[:i], o), fmt.Sprintf("options[%d]", i), "is there twice")
	}
	v.that(len(q.Options) > 0 || q.FreeText(), "options", "is required where allow_free_text is false")
	return v.err
}

// CheckAnswer says whether a person may answer an action of type ActionQuestion
// so: a FieldError that names answer and the options where it is none of them.
func (a Action) CheckAnswer(answer string) error {
	var q Question
	if err := json.Unmarshal(a.Arguments, &q); err != nil {
		return fmt.Errorf("the question of action %s: %w", a.ID, err)
	}
	if q.FreeText() || slices.Contains(q.Options, answer) {
		return nil
	}
	return &FieldError{"answer", "must be one of the options: " + strings.Join(q.Options, ", ")}
}
