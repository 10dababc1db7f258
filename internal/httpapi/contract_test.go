package httpapi_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/go-chi/chi/v5"

	"github.com/belayrun/belay/internal/access"
	"github.com/belayrun/belay/internal/httpapi"
	"github.com/belayrun/belay/internal/httpapi/a2a"
	"github.com/belayrun/belay/internal/httpapi/assistants"
	"github.com/belayrun/belay/internal/httpapi/chat"
	"github.com/belayrun/belay/internal/httpapi/client"
	"github.com/belayrun/belay/internal/httpapi/httpapitest"
	"github.com/belayrun/belay/internal/httpapi/portal"
	"github.com/belayrun/belay/internal/httpapi/responses"
	"github.com/belayrun/belay/internal/httpapi/studio"
	"github.com/belayrun/belay/internal/postgres"
	"github.com/belayrun/belay/internal/turn"
)

// The real things fit the doors.
var (
	_ client.Engine     = (*turn.Engine)(nil)
	_ client.Store      = (*postgres.Store)(nil)
	_ responses.Engine  = (*turn.Engine)(nil)
	_ httpapi.Ceiling   = (*turn.Engine)(nil)
	_ responses.Store   = (*postgres.Store)(nil)
	_ portal.Engine     = (*turn.Engine)(nil)
	_ portal.Store      = (*postgres.Store)(nil)
	_ portal.Visitors   = (*access.Visitors)(nil)
	_ assistants.Engine = (*turn.Engine)(nil)
	_ assistants.Store  = (*postgres.Store)(nil)
	_ chat.Engine       = (*turn.Engine)(nil)
	_ chat.Sessions     = (*postgres.Store)(nil)
	_ a2a.Engine        = (*turn.Engine)(nil)
	_ a2a.Watcher       = (*turn.Engine)(nil)
	_ a2a.Store         = (*postgres.Store)(nil)
	_ studio.Engine     = (*turn.Engine)(nil)
	_ studio.Store      = (*postgres.Store)(nil)
	_ studio.Access     = (*access.SignIns)(nil)
)

func TestTheDocumentsAreValid(t *testing.T) {
	t.Parallel()
	for _, doc := range httpapitest.All(t) {
		if err := doc.Spec.Validate(t.Context(), openapi3.IsOpenAPI31OrLater()); err != nil {
			t.Errorf("%s: %v", doc.Prefix, err)
		}
	}
}

func TestRoutesAreThoseOfTheDocuments(t *testing.T) {
	t.Parallel()
	w := httpapitest.NewWorld()
	mux, ok := httpapi.New(httpapi.Config{
		Auth: w, InvalidToken: httpapitest.ErrBadToken, Client: routes(w, httpapi.Streams{}), Open: portal.Routes(portal.Config{}),
		Studio: studio.New(studio.Config{}),
	}).(chi.Routes)
	if !ok {
		t.Fatal("New returns no chi.Routes")
	}
	var got, want []string
	err := chi.Walk(mux, func(method, route string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		if method != http.MethodOptions {
			got = append(got, method+" "+route)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range httpapitest.All(t) {
		for path, item := range doc.Spec.Paths.Map() {
			for method := range item.Operations() {
				want = append(want, method+" "+doc.Prefix+path)
			}
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("routes\n%q\nthe document has\n%q", got, want)
	}
}
