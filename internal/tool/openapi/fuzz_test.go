package openapi_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"testing"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/tool/openapi"
)

// nowhere is a transport that leads nowhere.
type nowhere struct{}

func (nowhere) RoundTrip(*http.Request) (*http.Response, error) { return nil, errors.New("nowhere") }

// Whatever a document holds, it gives tools that a model accepts and that can be
// called, or says why not.
func FuzzDocument(f *testing.F) {
	for _, name := range []string{"petstore.yaml", "things31.json"} {
		f.Add(file(f, name), `{"petId":1,"kind":"a","ids":[1]}`)
	}
	f.Add("openapi: 3.0.0\npaths: {/x: null, /y: {get: null}}\n", `{}`)
	f.Add("openapi: 3.1.0\nservers: [null]\npaths: {/x: {get: {parameters: [null], requestBody: {content: {a/json: null}}}}}\n", `{"body":1}`)
	f.Fuzz(func(t *testing.T, document, arguments string) {
		s := openapi.New(openapi.Config{Client: &http.Client{Transport: nowhere{}}})
		tools, err := s.Open(t.Context(), agent.Session{}, ref(agent.OpenAPISource{Document: document, BaseURL: "http://x"}))
		if _, ok := errors.AsType[*agent.FieldError](err); document != "" && err != nil && !ok {
			t.Fatalf("err = %v", err)
		}
		for _, x := range tools {
			if agent.CheckToolName("", x.Spec.Name) != nil || !json.Valid(x.Spec.Parameters) {
				t.Errorf("%+v", x.Spec)
			}
			if _, err := x.Call(t.Context(), []byte(arguments)); err == nil {
				t.Error("a call that leads nowhere succeeded")
			}
		}
	})
}
