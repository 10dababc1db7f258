package manifest_test

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/manifest"
)

func readWith(text string, files fstest.MapFS) (manifest.Manifest, error) {
	return manifest.Read("f.yaml", strings.NewReader(text), manifest.Options{
		Open: func(name string) (io.ReadCloser, error) { return files.Open(strings.TrimPrefix(name, "./")) },
	})
}

const filed = `kind: tool
key: orders
source: openapi
openapi: {document_file: ./orders.yaml}
---
kind: agent
key: a
config:
  model: m
  tools:
    - source: openapi
      key: own
      openapi:
        document_file: sub/own.json
        base_url: http://x
`

func TestADocumentIsReadFromItsFile(t *testing.T) {
	t.Parallel()
	const text = "openapi: 3.1.0\n# ${HOME} stays\n"
	m, err := readWith(filed, fstest.MapFS{"orders.yaml": {Data: []byte(text)}, "sub/own.json": {Data: []byte("{}")}})
	if err != nil {
		t.Fatal(err)
	}
	if got := *m.Tools[0].OpenAPI; got != (agent.OpenAPISource{Document: text}) {
		t.Errorf("tool: %+v", got)
	}
	if got := *m.Agents[0].Draft.Tools[0].OpenAPI; got != (agent.OpenAPISource{Document: "{}", BaseURL: "http://x"}) {
		t.Errorf("agent: %+v", got)
	}
	err = m.CheckTools(func(agent.ToolRef) ([]string, error) {
		return nil, &agent.FieldError{Field: "openapi.document", Message: "can't be used: line 3"}
	})
	want := "f.yaml: document 1, line 4, column 26: openapi.document_file: ./orders.yaml: can't be used: line 3\n" +
		"f.yaml: document 2, line 14, column 24: config.tools[0].openapi.document_file: sub/own.json: can't be used: line 3"
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

func TestAFileThatCannotBeReadIsTold(t *testing.T) {
	t.Parallel()
	const canary = "canary-0123456789"
	fine := &fstest.MapFile{Data: []byte("{}")}
	for name, x := range map[string]struct {
		text  string
		files fstest.MapFS
		want  string
	}{
		"not there":     {filed, fstest.MapFS{"orders.yaml": fine}, "f.yaml: document 2, line 14, column 24: config.tools[0].openapi.document_file: sub/own.json: can't be opened: file does not exist"},
		"empty":         {filed, fstest.MapFS{"orders.yaml": {}, "sub/own.json": fine}, "f.yaml: document 1, line 4, column 26: openapi.document_file: ./orders.yaml: is empty"},
		"a directory":   {filed, fstest.MapFS{"orders.yaml/x": fine, "sub/own.json": fine}, "f.yaml: document 1, line 4, column 26: openapi.document_file: ./orders.yaml: can't be read: invalid argument"},
		"no text":       {filed, fstest.MapFS{"orders.yaml": {Data: []byte(canary + "\xff")}, "sub/own.json": fine}, "f.yaml: document 1, line 4, column 26: openapi.document_file: ./orders.yaml: is not UTF-8"},
		"too large":     {filed, fstest.MapFS{"orders.yaml": {Data: []byte(canary + strings.Repeat("x", 10<<20))}, "sub/own.json": fine}, "f.yaml: document 1, line 4, column 26: openapi.document_file: ./orders.yaml: is larger than 10 MB"},
		"and a URL":     {strings.Replace(filed, "document_file: ./", "document_url: http://x, document_file: ./", 1), fstest.MapFS{"orders.yaml": fine, "sub/own.json": fine}, "f.yaml: document 1, line 4, column 50: openapi.document_file: give one of document, document_file and document_url"},
		"and the text":  {strings.Replace(filed, "document_file: ./", "document: x, document_file: ./", 1), fstest.MapFS{"orders.yaml": fine, "sub/own.json": fine}, "f.yaml: document 1, line 4, column 39: openapi.document_file: give one of document, document_file and document_url"},
		"a line ending": {strings.Replace(filed, "./orders.yaml", `"or\nders"`, 1), fstest.MapFS{"sub/own.json": fine}, `f.yaml: document 1, line 4, column 26: openapi.document_file: "or\nders": can't be opened: file does not exist`},
	} {
		_, err := readWith(x.text, x.files)
		if err == nil || err.Error() != x.want || strings.Contains(err.Error(), canary) {
			t.Errorf("%s: got\n%v\nwant\n%s", name, err, x.want)
		}
	}
	_, err := manifest.Parse("f.yaml", strings.NewReader(filed), nil)
	if err == nil || strings.Count(err.Error(), "no file can be read here: give the document itself, or its URL") != 2 {
		t.Errorf("without files: %v", err)
	}
	_, err = manifest.Read("f.yaml", strings.NewReader(filed), manifest.Options{
		Open: func(string) (io.ReadCloser, error) {
			return nil, &os.PathError{Op: "open", Path: canary, Err: os.ErrPermission}
		},
	})
	if err == nil || strings.Contains(err.Error(), canary) || !errors.As(err, new(manifest.Errors)) || strings.Count(err.Error(), "permission denied") != 2 {
		t.Errorf("refused: %v", err)
	}
}
