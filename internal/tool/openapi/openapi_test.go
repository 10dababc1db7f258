package openapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/tool"
	"github.com/belayrun/belay/internal/tool/openapi"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shelf is a project's shared tools; their secrets are those that they hold.
type shelf map[string]agent.SharedTool

func (s shelf) Tool(_ context.Context, _, key string) (agent.SharedTool, error) {
	t, ok := s[key]
	if !ok {
		return t, agent.ErrNotFound
	}
	t.Secret = ""
	return t, nil
}

func (s shelf) Secret(_ context.Context, _, key string) (string, error) {
	if s[key].Secret == "" {
		return "", agent.ErrNotFound
	}
	return s[key].Secret, nil
}

const canary = "sk-canary-0123456789"

func newSource(t *testing.T, maxAge time.Duration) tool.Source {
	t.Helper()
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	keep := shelf{"keys": {Key: "keys", Source: "openapi", Secret: canary}}
	return tool.Sharing{Tools: keep, Source: openapi.New(openapi.Config{Client: &http.Client{Transport: tr}, Secrets: keep, MaxAge: maxAge})}
}

func file(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func ref(block agent.OpenAPISource, names ...string) agent.ToolRef {
	return agent.ToolRef{Source: "openapi", Key: "api", Names: names, OpenAPI: &block}
}

func open(t *testing.T, s tool.Source, r agent.ToolRef) []agent.Tool {
	t.Helper()
	tools, err := s.Open(t.Context(), agent.Session{Project: "p"}, r)
	if err != nil {
		t.Fatal(err)
	}
	return tools
}

func named(t *testing.T, tools []agent.Tool, name string) agent.Tool {
	t.Helper()
	i := slices.IndexFunc(tools, func(x agent.Tool) bool { return x.Spec.Name == name })
	if i < 0 {
		t.Fatalf("no tool %s", name)
	}
	return tools[i]
}

// got is a request that the upstream saw.
type got struct {
	method, uri, body string
	header            http.Header
}

// upstream answers all requests with handler, and remembers the last.
func upstream(t *testing.T, handler http.HandlerFunc) (url string, last *got) {
	t.Helper()
	last = &got{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		*last = got{r.Method, r.RequestURI, string(b), r.Header.Clone()}
		handler(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL, last
}

func ok(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"ok":true}`) }

func TestTheToolsOfThePetstore(t *testing.T) {
	t.Parallel()
	tools := open(t, newSource(t, 0), ref(agent.OpenAPISource{Document: file(t, "petstore.yaml")}))
	var names []string
	for _, x := range tools {
		names = append(names, x.Spec.Name)
		if !x.Abortable || x.Timeout != agent.DefaultToolTimeout || agent.CheckToolName("", x.Spec.Name) != nil || !json.Valid(x.Spec.Parameters) {
			t.Errorf("%+v", x)
		}
	}
	want := []string{"addPet", "updatePet", "findPetsByStatus", "findPetsByTags", "getPetById", "updatePetWithForm", "deletePet", "uploadFile", "getInventory", "get_user_login"}
	if !slices.Equal(names, want) {
		t.Errorf("names = %v", names)
	}
	add := named(t, tools, "addPet").Spec
	const parameters = `{"additionalProperties":false,"properties":{"body":{"description":"Create a new pet in the store","properties":{` +
		`"category":{"properties":{"id":{"format":"int64","type":"integer"},"name":{"type":"string"}},"type":"object"},` +
		`"id":{"format":"int64","type":"integer"},"name":{"type":"string"},"photoUrls":{"items":{"type":"string"},"type":"array"},` +
		`"status":{"enum":["available","pending","sold"],"type":"string"},` +
		`"tags":{"items":{"properties":{"id":{"format":"int64","type":"integer"},"name":{"type":["string","null"]}},"type":"object"},"type":"array"}},` +
		`"required":["name","photoUrls"],"type":"object"}},"required":["body"],"type":"object"}`
	if add.Description != "Add a new pet to the store" || string(add.Parameters) != parameters {
		t.Errorf("%q\n%s", add.Description, add.Parameters)
	}
}

func TestCallsOfThePetstore(t *testing.T) {
	t.Parallel()
	url, last := upstream(t, ok)
	tools := open(t, newSource(t, 0), ref(agent.OpenAPISource{Document: file(t, "petstore.yaml"), BaseURL: url + "/api/v3/"}))
	for name, tc := range map[string]struct{ tool, arguments, method, uri, body string }{
		"path":           {"getPetById", `{"petId": 9007199254740993}`, "GET", "/api/v3/pet/9007199254740993", ""},
		"query":          {"findPetsByStatus", `{"status":"sold"}`, "GET", "/api/v3/pet/findByStatus?status=sold", ""},
		"no arguments":   {"findPetsByStatus", ``, "GET", "/api/v3/pet/findByStatus", ""},
		"exploded list":  {"findPetsByTags", `{"tags":["a b","c&d"]}`, "GET", "/api/v3/pet/findByTags?tags=a+b&tags=c%26d", ""},
		"JSON":           {"addPet", `{"body":{"name":"rex","photoUrls":[],"id":9007199254740993}}`, "POST", "/api/v3/pet", `{"name":"rex","photoUrls":[],"id":9007199254740993}`},
		"path and query": {"updatePetWithForm", `{"petId":1,"name":"ä/?"}`, "POST", "/api/v3/pet/1?name=%C3%A4%2F%3F", ""},
		"text body":      {"uploadFile", `{"petId":1,"body":"bytes"}`, "POST", "/api/v3/pet/1/uploadImage", "bytes"},
		"optional body":  {"updatePet", `{}`, "PUT", "/api/v3/pet", ""},
	} {
		out, err := named(t, tools, tc.tool).Call(t.Context(), []byte(tc.arguments))
		if err != nil || out != `{"ok":true}` || last.method != tc.method || last.uri != tc.uri || last.body != tc.body {
			t.Errorf("%s: %q, %v; %s %s %q", name, out, err, last.method, last.uri, last.body)
		}
	}
	if _, err := named(t, tools, "deletePet").Call(t.Context(), []byte(`{"petId":1,"api_key":"k"}`)); err != nil || last.header.Get("Api_key") != "k" {
		t.Errorf("header: %v, %v", err, last.header)
	}
}

func TestCallsOfA31Document(t *testing.T) {
	t.Parallel()
	url, last := upstream(t, ok)
	tools := open(t, newSource(t, 0), ref(agent.OpenAPISource{Document: file(t, "things31.json"), BaseURL: url}))
	if len(tools) != 3 { // the one that takes multipart only can't be called
		t.Fatalf("%d tools", len(tools))
	}
	get := named(t, tools, "get_things_kind_ids")
	_, err := get.Call(t.Context(), []byte(`{"kind":"a/../b?","ids":[1,2],"filter":{"color":"red","size":3},"sort_by":["x","y"],"where":{"a": [1]},"flags":[true,false],"X-Trace":["t","u"],"kind_2":"x","lang":"de"}`))
	want := "/things/a%2F..%2Fb%3F/1,2?filter%5Bcolor%5D=red&filter%5Bsize%5D=3&flags=true%2Cfalse&kind=x&sort%5Bby%5D=x%7Cy&where=%7B%22a%22%3A+%5B1%5D%7D"
	if err != nil || last.uri != want || last.header.Get("X-Trace") != "t,u" || last.header.Get("Cookie") != "lang=de" {
		t.Errorf("%v: %s %v", err, last.uri, last.header)
	}
	add := named(t, tools, "nodes_add_2")
	if _, err := add.Call(t.Context(), []byte(`{"body":{"a":"x y","b":[1,2]}}`)); err != nil || last.body != "a=x+y&b=1&b=2" {
		t.Errorf("form: %v %q", err, last.body)
	}
	post := named(t, tools, "nodes_add")
	deep := `{"body":{"name":"a","parent":{"name":1},"children":[{"name":2}],"shape":{"name":"a","r":1},"odd":"y"}}`
	if _, err := post.Call(t.Context(), []byte(deep)); err != nil || last.header.Get("Content-Type") != "application/vnd.things+json" {
		t.Errorf("recursion: %v %v", err, last.header)
	}
}

func TestArgumentsThatDoNotMatchAreNotSent(t *testing.T) {
	t.Parallel()
	url, last := upstream(t, ok)
	s := newSource(t, 0)
	tools := slices.Concat(open(t, s, ref(agent.OpenAPISource{Document: file(t, "petstore.yaml"), BaseURL: url})),
		open(t, s, ref(agent.OpenAPISource{Document: file(t, "things31.json"), BaseURL: url})))
	for _, tc := range [][2]string{
		{"getPetById", `{}`},
		{"getPetById", `{"petId":"one"}`},
		{"getPetById", `{"petId":1.5}`},
		{"getPetById", `{"petId":1,"more":2}`},
		{"getPetById", `[1]`},
		{"getPetById", `{"petId":`},
		{"findPetsByStatus", `{"status":"gone"}`},
		{"addPet", `{"body":{"name":"rex"}}`},
		{"addPet", `{}`},
		{"nodes_add", `{"body":{"name":"A"}}`},
		{"get_things_kind_ids", `{"kind":"..","ids":[1]}`},
		{"get_things_kind_ids", `{"kind":".","ids":[1]}`},
		{"get_things_kind_ids", `{"kind":"","ids":[1]}`},
		{"get_things_kind_ids", `{"kind":"a","ids":[]}`},
		{"get_things_kind_ids", `{"kind":"a","ids":[1],"filter":{"size":0}}`},
		{"get_things_kind_ids", `{"kind":"a","ids":[1],"kind_2":"y"}`},
		{"get_things_kind_ids", `{"kind":"a","ids":[1],"X-Trace":["a\r\nHost: b"]}`},
		{"get_things_kind_ids", `{"kind":"a","ids":[1],"Authorization":"Bearer x"}`},
	} {
		if out, err := named(t, tools, tc[0]).Call(t.Context(), []byte(tc[1])); err == nil {
			t.Errorf("%s %s: %q", tc[0], tc[1], out)
		}
	}
	if last.method != "" {
		t.Errorf("%s %s was sent", last.method, last.uri)
	}
}

func TestEveryKindOfAuth(t *testing.T) {
	t.Parallel()
	url, last := upstream(t, ok)
	for _, tc := range []struct {
		auth         *agent.ToolAuth
		header, want string
	}{
		{nil, "Authorization", ""},
		{&agent.ToolAuth{Type: "bearer", Secret: "keys"}, "Authorization", "Bearer " + canary},
		{&agent.ToolAuth{Type: "basic", Username: "me", Secret: "keys"}, "Authorization", "Basic bWU6c2stY2FuYXJ5LTAxMjM0NTY3ODk="},
		{&agent.ToolAuth{Type: "header", Header: "X-Api-Key", Secret: "keys"}, "X-Api-Key", canary},
	} {
		tools := open(t, newSource(t, 0), ref(agent.OpenAPISource{Document: file(t, "petstore.yaml"), BaseURL: url, Auth: tc.auth}, "getInventory"))
		if _, err := tools[0].Call(t.Context(), nil); err != nil || last.header.Get(tc.header) != tc.want {
			t.Errorf("%+v: %v, %v", tc.auth, err, last.header)
		}
		if strings.Contains(fmt.Sprintf("%+v", tools[0].Spec), canary) {
			t.Error("the model is told the secret")
		}
	}
}

func TestAnswersThatAreNoSuccessAreErrors(t *testing.T) {
	t.Parallel()
	var handler http.HandlerFunc
	url, _ := upstream(t, func(w http.ResponseWriter, r *http.Request) { handler(w, r) })
	tool := open(t, newSource(t, 0), ref(agent.OpenAPISource{Document: file(t, "petstore.yaml"), BaseURL: url}, "getInventory"))[0]
	for name, tc := range map[string]struct {
		handler   http.HandlerFunc
		out, fail string
		long      int
	}{
		"not found":    {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no pet", 404) }, "", "404 Not Found: no pet\n", 0},
		"no body":      {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }, "", "503 Service Unavailable", 0},
		"long failure": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, strings.Repeat("ä", 1<<20), 500) }, "", "500 Internal Server Error: ää", 4100},
		"nothing":      {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }, "204 No Content", "", 0},
		"bytes": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "image/png")
			_, _ = w.Write([]byte{0x89, 0xff})
		}, "[2 bytes of image/png]", "", 0},
		"broken off": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte("x"))
		}, "", "the answer broke off: unexpected EOF", 0},
	} {
		handler = tc.handler
		out, err := tool.Call(t.Context(), nil)
		if out != tc.out || (err != nil) != (tc.fail != "") || err != nil && !strings.HasPrefix(err.Error(), tc.fail) {
			t.Errorf("%s: %q, %v", name, out, err)
		}
		if tc.long > 0 && len(err.Error()) > tc.long {
			t.Errorf("%s: %d bytes", name, len(err.Error()))
		}
	}
}

func TestAnAnswerWithoutEndIsReadToOneMiB(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{})
	url, _ := upstream(t, func(w http.ResponseWriter, _ *http.Request) {
		defer close(gone)
		for b := []byte(strings.Repeat("ä", 32<<10)); ; {
			if _, err := w.Write(b); err != nil {
				return
			}
		}
	})
	tool := open(t, newSource(t, 0), ref(agent.OpenAPISource{Document: file(t, "petstore.yaml"), BaseURL: url}, "getInventory"))[0]
	out, err := tool.Call(t.Context(), nil)
	if err != nil || len(out) > 1<<20+100 || !strings.HasSuffix(out, "[the answer is longer than 1 MiB; the rest was not read]") {
		t.Errorf("%d bytes, %v", len(out), err)
	}
	<-gone
}

// What the upstream sees of a stop: in the answer's middle and before its first
// byte.
func TestAStopClosesTheConnection(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]string{"silent": "", "in the middle": "x"} {
		began, aborted := make(chan struct{}), make(chan time.Time, 1)
		url, _ := upstream(t, func(w http.ResponseWriter, r *http.Request) {
			if first != "" {
				_, _ = io.WriteString(w, first)
				_ = http.NewResponseController(w).Flush()
			}
			close(began)
			<-r.Context().Done()
			aborted <- time.Now()
		})
		tool := open(t, newSource(t, 0), ref(agent.OpenAPISource{Document: file(t, "petstore.yaml"), BaseURL: url}, "getInventory"))[0]
		ctx, stop := context.WithCancelCause(t.Context())
		ended := make(chan error, 1)
		go func() { _, err := tool.Call(ctx, nil); ended <- err }()
		<-began
		asked := time.Now()
		stop(errors.New("stopped"))
		if err := <-ended; err == nil || time.Since(asked) > time.Second {
			t.Errorf("%s: %v after %v", name, err, time.Since(asked))
		}
		select {
		case at := <-aborted:
			t.Logf("%s: the upstream saw it after %v", name, at.Sub(asked))
		case <-time.After(time.Second):
			t.Errorf("%s: the upstream saw no abort", name)
		}
	}
}

func TestASlowAnswerEndsWithTheCallsTime(t *testing.T) {
	t.Parallel()
	url, _ := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			_, _ = io.WriteString(w, ".")
			_ = http.NewResponseController(w).Flush()
			time.Sleep(time.Millisecond)
		}
	})
	tool := open(t, newSource(t, 0), ref(agent.OpenAPISource{Document: file(t, "petstore.yaml"), BaseURL: url}, "getInventory"))[0]
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := tool.Call(ctx, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("err = %v", err)
	}
}

func TestNoErrorHoldsASecretOrAnAddress(t *testing.T) {
	t.Parallel()
	auth := &agent.ToolAuth{Type: "bearer", Secret: "keys"}
	tool := open(t, newSource(t, 0), ref(agent.OpenAPISource{Document: file(t, "petstore.yaml"), BaseURL: "http://127.0.0.1:1/hidden", Auth: auth}, "findPetsByStatus"))[0]
	_, err := tool.Call(t.Context(), []byte(`{"status":"sold"}`))
	if err == nil || err.Error() != "the server can't be reached: connect: connection refused" || strings.Contains(err.Error(), canary) || strings.Contains(err.Error(), "hidden") || strings.Contains(err.Error(), "sold") {
		t.Errorf("err = %v", err)
	}
}

func TestDocumentsThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	const head = "openapi: 3.0.0\ninfo: {title: t, version: v}\nservers: [{url: http://x}]\n"
	var bomb strings.Builder
	bomb.WriteString("a: &a [x,x,x,x,x,x,x,x,x,x]\n")
	for c := 'b'; c < 'k'; c++ {
		bomb.WriteString(fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.Repeat("*"+string(c-1)+",", 10)))
	}
	for name, tc := range map[string]struct{ document, field, want string }{
		"no YAML":               {"{", "openapi.document", "it is no OpenAPI document"},
		"text":                  {"hello", "openapi.document", "can't be used"},
		"Swagger 2":             {"swagger: '2.0'\npaths: {}\n", "openapi.document", "no OpenAPI 3 document"},
		"3.2":                   {strings.Replace(head, "3.0.0", "3.2.0", 1) + "paths: {/x: {get: {responses: {}}}}\n", "openapi.document", "only 3.0 and 3.1"},
		"no paths":              {head, "openapi.document", "it has no operations"},
		"no operations":         {head + "paths: {/x: {}}\n", "openapi.document", "it has no operations"},
		"an open path":          {head + "paths: {'/x/{id}': {get: {responses: {}}}}\n", "openapi.document", "get_x: its path has {id}"},
		"multipart only":        {head + "paths: {/x: {post: {requestBody: {required: true, content: {multipart/form-data: {}}}, responses: {}}}}\n", "openapi.document", "its body is multipart/form-data"},
		"a lost reference":      {head + "paths: {/x: {get: {parameters: [{$ref: '#/components/parameters/P'}], responses: {}}}}\n", "openapi.document", "it is no OpenAPI document"},
		"a file":                {head + "paths: {/x: {get: {parameters: [{$ref: '/etc/passwd'}], responses: {}}}}\n", "openapi.document", "it is no OpenAPI document"},
		"another's":             {head + "paths: {/x: {get: {parameters: [{$ref: 'http://169.254.169.254/p'}], responses: {}}}}\n", "openapi.document", "it is no OpenAPI document"},
		"aliases without end":   {bomb.String(), "openapi.document", "can't be used"},
		"too large":             {head + strings.Repeat("# x\n", 1<<19), "openapi.document", "larger than 2 MiB"},
		"no server":             {strings.Replace(head, "servers: [{url: http://x}]\n", "", 1) + "paths: {/x: {get: {responses: {}}}}\n", "openapi.base_url", "is required"},
		"a server of no scheme": {strings.Replace(head, "http://x", "/v1", 1) + "paths: {/x: {get: {responses: {}}}}\n", "openapi.base_url", "is required"},
	} {
		began := time.Now()
		_, err := newSource(t, 0).Open(t.Context(), agent.Session{}, ref(agent.OpenAPISource{Document: tc.document}))
		want := tc.want
		if name == "an open path" {
			want = "GET /x/{id}: its path has {id}"
		}
		f, ok := errors.AsType[*agent.FieldError](err)
		if !ok || f.Field != tc.field || !strings.Contains(f.Message, want) || strings.Contains(f.Message, "\n") {
			t.Errorf("%s: %v", name, err)
		}
		if d := time.Since(began); d > 5*time.Second {
			t.Errorf("%s: %v", name, d)
		}
	}
}

func TestNamesAndSecretsThatAreNotThere(t *testing.T) {
	t.Parallel()
	s := newSource(t, 0)
	pets := file(t, "petstore.yaml")
	for want, r := range map[string]agent.ToolRef{
		`names[1]: the document has no operation "fly"; it has addPet, updatePet`: ref(agent.OpenAPISource{Document: pets}, "addPet", "fly"),
		`openapi.auth.secret: no secret is kept by a shared tool "gone"`:          ref(agent.OpenAPISource{Document: pets, Auth: &agent.ToolAuth{Type: "bearer", Secret: "gone"}}),
		`key: there is no shared tool "gone"`:                                     {Source: "openapi", Key: "gone"},
		`key: the source of the shared tool "keys" is openapi`:                    {Source: "openapi", Key: "keys"},
	} {
		_, err := s.Open(t.Context(), agent.Session{}, r)
		if _, ok := errors.AsType[*agent.FieldError](err); !ok || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestASharedToolIsUsedByItsKey(t *testing.T) {
	t.Parallel()
	url, last := upstream(t, ok)
	keep := shelf{
		"pets": {Source: "openapi", Secret: canary, OpenAPI: &agent.OpenAPISource{Document: file(t, "petstore.yaml"), BaseURL: url, Auth: &agent.ToolAuth{Type: "bearer", Secret: "pets"}}},
		"bad":  {Source: "openapi", OpenAPI: &agent.OpenAPISource{Document: "{"}},
	}
	s := tool.Sharing{Tools: keep, Source: openapi.New(openapi.Config{Client: http.DefaultClient, Secrets: keep})}
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	tools := open(t, s, agent.ToolRef{Source: "openapi", Key: "pets", Names: []string{"getInventory"}})
	if _, err := tools[0].Call(t.Context(), nil); err != nil || last.header.Get("Authorization") != "Bearer "+canary || len(tools) != 1 {
		t.Errorf("%v, %v", err, last.header)
	}
	_, err := s.Open(t.Context(), agent.Session{}, agent.ToolRef{Source: "openapi", Key: "bad"})
	if f, ok := errors.AsType[*agent.FieldError](err); !ok || f.Field != "key" || !strings.Contains(f.Message, "shared tool bad: openapi.document") {
		t.Errorf("err = %v", err)
	}
}

func TestAFetchedDocumentIsKeptAndReadAgainWhenItChanged(t *testing.T) {
	t.Parallel()
	var text atomic.Value
	text.Store(file(t, "petstore.yaml"))
	var fetched atomic.Int32
	url, _ := upstream(t, func(w http.ResponseWriter, _ *http.Request) {
		fetched.Add(1)
		if text.Load() == "" {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		_, _ = io.WriteString(w, text.Load().(string))
	})
	r := ref(agent.OpenAPISource{DocumentURL: url, BaseURL: url})
	kept := newSource(t, time.Hour)
	for range 3 {
		if n := len(open(t, kept, r)); n != 10 {
			t.Errorf("%d tools", n)
		}
	}
	if fetched.Load() != 1 {
		t.Errorf("fetched %d times", fetched.Load())
	}
	fresh := newSource(t, time.Nanosecond)
	open(t, fresh, r)
	text.Store(file(t, "things31.json"))
	if n := len(open(t, fresh, r)); n != 3 {
		t.Errorf("%d tools after the change", n)
	}
	for _, broken := range []string{"", "{"} {
		text.Store(broken)
		if n := len(open(t, fresh, r)); n != 3 {
			t.Errorf("%d tools while it is broken", n)
		}
		_, err := newSource(t, 0).Open(t.Context(), agent.Session{}, r)
		if f, ok := errors.AsType[*agent.FieldError](err); !ok || f.Field != "openapi.document_url" {
			t.Errorf("err = %v", err)
		}
	}
}

func TestADocumentFromElsewhereDoesNotSayWhereASecretGoes(t *testing.T) {
	t.Parallel()
	text := file(t, "petstore.yaml")
	url, last := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/doc" {
			_, _ = io.WriteString(w, text)
		}
	})
	block := agent.OpenAPISource{DocumentURL: url + "/doc", Auth: &agent.ToolAuth{Type: "bearer", Secret: "keys"}}
	_, err := newSource(t, 0).Open(t.Context(), agent.Session{}, ref(block))
	if f, ok := errors.AsType[*agent.FieldError](err); !ok || f.Field != "openapi.base_url" {
		t.Errorf("err = %v", err)
	}
	text = strings.Replace(text, "'{scheme}://petstore.example.com/api/v3'", "/api", 1)
	tools := open(t, newSource(t, 0), ref(block, "getInventory"))
	if _, err := tools[0].Call(t.Context(), nil); err != nil || last.uri != "/api/store/inventory" {
		t.Errorf("%v: %s", err, last.uri)
	}
}

func TestASchemaThatGrowsWithoutEndIsBounded(t *testing.T) {
	t.Parallel()
	var doc strings.Builder
	doc.WriteString("openapi: 3.0.0\ninfo: {title: t, version: v}\nservers: [{url: http://x}]\npaths: {/x: {post: {requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/S0'}}}}, responses: {}}}}\ncomponents:\n  schemas:\n")
	for i := range 20 {
		fmt.Fprintf(&doc, "    S%d: {type: object, properties: {", i)
		for k := range 10 {
			fmt.Fprintf(&doc, "p%d: {$ref: '#/components/schemas/S%d'}, ", k, i+1)
		}
		doc.WriteString("}}\n")
	}
	doc.WriteString("    S20: {type: string}\n")
	tools := open(t, newSource(t, 0), ref(agent.OpenAPISource{Document: doc.String()}))
	if n := len(tools[0].Spec.Parameters); n > 100_000 {
		t.Errorf("%d bytes", n)
	}
}
