package manifest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"unicode/utf8"

	"github.com/belayrun/belay/internal/agent"
)

// include puts the text of the file that an API's document is in where the
// document belongs. A file that can't be read is a fault of the field that names
// it.
func (p *parser) include(kind, key, path string, s *agent.OpenAPISource) {
	if s == nil || s.DocumentFile == "" {
		return
	}
	name, field := s.DocumentFile, path+".document_file"
	s.DocumentFile = ""
	if s.Document != "" || s.DocumentURL != "" {
		p.faulty(p.at[field], field, "give one of document, document_file and document_url")
		s.Document, s.DocumentURL = "x", ""
		return
	}
	text, err := p.file(name)
	if err != nil {
		p.faulty(p.at[field], field, "%s: %v", shown(name), err)
		text = "x" // that it is missing need not be told as well
	}
	s.Document = text
	p.out.included[placeKey(kind, key, path+".document")] = shown(name)
}

// file returns the text of a file. Its errors hold nothing of the text.
func (p *parser) file(name string) (string, error) {
	if p.open == nil {
		return "", errors.New("no file can be read here: give the document itself, or its URL")
	}
	f, err := p.open(name)
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return "", fmt.Errorf("can't be opened: %w", e.Err)
	}
	if err != nil {
		return "", fmt.Errorf("can't be opened: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxInput+1))
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	switch {
	case err != nil:
		return "", fmt.Errorf("can't be read: %w", err)
	case len(b) > maxInput:
		return "", fmt.Errorf("is larger than %d MB", maxInput>>20)
	case len(b) == 0:
		return "", errors.New("is empty")
	case !utf8.Valid(b):
		return "", errors.New("is not UTF-8")
	}
	return string(b), nil
}
