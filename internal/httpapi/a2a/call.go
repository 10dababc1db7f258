package a2a

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/httpapi"
)

// call is one request of a client.
type call struct {
	w http.ResponseWriter
	r *http.Request

	caller agent.Principal
	host
	v      binding
	id     json.RawMessage // as it was sent, null where it can't be read
	method method
	params object
}

// envelope is an answer: with a result, which may be null, or with an error.
type envelope struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  any             `json:"result"`
}

type refusal struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Error   *wireError      `json:"error"`
}

var null = json.RawMessage("null")

// call serves JSON-RPC; pinned is the version of the URL, empty for the header's.
// All that it says is HTTP 200, errors too.
func (d *door) call(pinned string, find finder) httpapi.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		h, away := find(r)
		if away != nil && !errors.Is(away, agent.ErrUnavailable) {
			return away
		}
		c := &call{w: w, r: r, caller: httpapi.Caller(r.Context()), host: h, id: null}
		if err := c.read(pinned); err != nil {
			return c.refuse(err)
		}
		switch {
		case away != nil && c.method.stops:
			return c.refuse(d.stopHere(c, away))
		case away != nil:
			return c.refuse(away)
		}
		if c.method.stream == nil {
			result, err := c.method.unary(d, c)
			if err != nil {
				return c.refuse(err)
			}
			return httpapi.WriteJSON(w, http.StatusOK, envelope{"2.0", c.id, result})
		}
		f, err := c.method.stream(d, c)
		if err != nil {
			return c.refuse(err)
		}
		return d.serve(c, f)
	}
}

// read reads the envelope. The id is known to the answer as soon as it can be read.
func (c *call) read(pinned string) error {
	v, versionErr := bindingOf(c.r.Header.Get(versionHeader), pinned)
	c.v = v
	body, err := io.ReadAll(c.r.Body)
	if err != nil {
		return err
	}
	q, err := parse(body)
	if q.ID != nil {
		c.id = q.ID
	}
	switch {
	case versionErr != nil:
		return versionErr
	case !isJSON(c.r.Header.Get("Content-Type")):
		return &fault{code: contentNotSupported, message: "Incompatible content types: a request's Content-Type that is not application/json is not supported."}
	case err != nil:
		return err
	}
	m, ok := methods[c.v][q.Method]
	if !ok {
		return &fault{code: unknownMethod, message: "A2A " + c.v.String() + " has no method " + clip(q.Method) + " here."}
	}
	c.method = m
	c.params, err = newObject(q.Params, c.v == v10)
	return err
}

func isJSON(contentType string) bool {
	if contentType == "" {
		return true
	}
	kind, _, err := mime.ParseMediaType(contentType)
	return err == nil && (kind == "application/json" || strings.HasSuffix(kind, "+json"))
}

type rpcRequest struct {
	Version string
	ID      json.RawMessage
	Method  string
	Params  json.RawMessage
}

// parse reads a request. What can be read of its id is there in any case.
func parse(body []byte) (rpcRequest, error) {
	var q rpcRequest
	if !json.Valid(body) {
		return q, &fault{code: parseError, message: "The body is not JSON."}
	}
	var raw map[string]json.RawMessage
	if json.Unmarshal(body, &raw) != nil {
		return q, &fault{code: invalidRequest, message: "The body must be one JSON-RPC request; batches are not supported."}
	}
	id := bytes.TrimSpace(raw["id"])
	if len(id) > 0 && id[0] != '{' && id[0] != '[' && id[0] != 't' && id[0] != 'f' {
		q.ID = id
	}
	err := errors.Join(unmarshalText(raw["jsonrpc"], &q.Version), unmarshalText(raw["method"], &q.Method))
	switch {
	case q.ID == nil && len(id) > 0:
		return q, &fault{code: invalidRequest, message: "id must be a string, a number or null."}
	case err != nil || q.Version != "2.0":
		return q, &fault{code: invalidRequest, message: `jsonrpc must be "2.0", and method a string.`}
	case q.Method == "":
		return q, &fault{code: invalidRequest, message: "method is required."}
	}
	q.Params = raw["params"]
	return q, nil
}

func unmarshalText(raw json.RawMessage, dst *string) error {
	if raw == nil {
		return nil
	}
	return json.Unmarshal(raw, dst)
}

// refuse answers with an error. A stream of 0.3 is refused by a stream: its
// clients read nothing else.
func (c *call) refuse(err error) error {
	if c.r.Context().Err() != nil {
		return err
	}
	httpapi.Fault(c.r.Context(), err)
	out := refusal{"2.0", c.id, faultOf(err).wire(c.v)}
	if c.v == v10 || c.method.stream == nil {
		return httpapi.WriteJSON(c.w, http.StatusOK, out)
	}
	b, err := httpapi.AppendJSON([]byte("data: "), out)
	if err != nil {
		return err
	}
	h := c.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache, no-transform")
	c.w.WriteHeader(http.StatusOK)
	_, err = c.w.Write(append(b, httpapi.FrameEnd...))
	return err
}

// maxPeek bounds what is read of the request of somebody who is nobody.
const maxPeek = 64 << 10

// refuse answers what has an HTTP status of its own: who is not authenticated,
// and agents that are not there.
func refuse(w http.ResponseWriter, r *http.Request, e *httpapi.Error) error {
	out := refusal{"2.0", null, nil}
	if body, err := io.ReadAll(io.LimitReader(r.Body, maxPeek)); err == nil {
		if q, _ := parse(body); q.ID != nil {
			out.ID = q.ID
		}
	}
	v, _ := bindingOf(r.Header.Get(versionHeader), "")
	out.Error = explained(e, e).wire(v)
	status := e.Status
	if status != http.StatusUnauthorized && status != http.StatusNotFound {
		status = http.StatusOK
	}
	return httpapi.WriteJSON(w, status, out)
}
