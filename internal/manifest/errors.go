package manifest

import (
	"fmt"
	"strings"
)

// maxErrors is how many faults of a file are told.
const maxErrors = 100

// Error is one fault of a file and where it is. It never holds a value of the
// file: that may be a secret.
type Error struct {
	File                   string
	Document, Line, Column int    // from 1; 0: not known
	Field                  string // as written in the document: config.tools[0].names; empty: all of it
	Message                string
}

func (e *Error) Error() string {
	var where []string
	for _, w := range []struct {
		word string
		n    int
	}{{"document", e.Document}, {"line", e.Line}, {"column", e.Column}} {
		if w.n > 0 {
			where = append(where, fmt.Sprintf("%s %d", w.word, w.n))
		}
	}
	parts := []string{e.File, strings.Join(where, ", "), e.Field, e.Message}
	said := parts[:0]
	for _, s := range parts {
		if s != "" {
			said = append(said, s)
		}
	}
	return strings.Join(said, ": ")
}

// Errors are the faults of a file in its order, a hundred at most.
type Errors []*Error

// Error has a line for each fault.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, err := range e {
		lines[i] = err.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns each fault.
func (e Errors) Unwrap() []error {
	out := make([]error, len(e))
	for i, err := range e {
		out[i] = err
	}
	return out
}

// fault notes a fault.
func (p *parser) fault(at place, field, format string, args ...any) {
	if len(p.errs) < maxErrors {
		p.errs = append(p.errs, &Error{p.out.file, at.document, at.line, at.column, field, fmt.Sprintf(format, args...)})
	}
}

// faulty notes a fault of a field, about which nothing more is then said.
func (p *parser) faulty(at place, field, format string, args ...any) {
	p.bad[field] = true
	p.fault(at, field, format, args...)
}
