package websearch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/belayrun/belay/internal/agent"
)

// engine is a provider as an agent reaches it.
type engine struct {
	client   *http.Client
	provider provider
	base     string
	auth     *agent.ToolAuth
	secret   string
}

// Result is one thing that was found.
type Result struct {
	Title   string `json:"title"`
	URL     string `json:"url"`
	Snippet string `json:"snippet"`
}

type answer struct {
	Results []Result `json:"results"`
}

// Bounds of what is read of an answer, in bytes, and of what is shown of a
// result, in characters.
const (
	maxBody    = 4 << 20
	maxTitle   = 300
	maxSnippet = 2000
)

// search asks the provider. When it returns, the connection is free or closed;
// its errors never have the provider's words or anything of the key in them.
func (e *engine) search(ctx context.Context, in input) (string, error) {
	req, err := e.provider.request(ctx, e.base, in)
	if err != nil {
		return "", fmt.Errorf("the search can't be asked: %w", plain(err))
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "belay")
	e.authorize(req)
	res, err := e.client.Do(req)
	if err != nil {
		return "", e.failed(ctx, err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return "", refusal(res)
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxBody+1))
	if err != nil {
		return "", e.failed(ctx, err)
	}
	if len(body) > maxBody {
		return "", fmt.Errorf("the search provider's answer has more than %d MB", maxBody>>20)
	}
	found, err := e.provider.results(body)
	if err != nil {
		return "", errors.New("the search provider's answer could not be read: it is not the JSON of a " + e.provider.name())
	}
	out, err := json.Marshal(answer{tidy(found, in.MaxResults)})
	return string(out), err
}

func (e *engine) authorize(req *http.Request) {
	switch {
	case e.auth == nil:
	case e.auth.Type == "bearer":
		req.Header.Set("Authorization", "Bearer "+e.secret)
	case e.auth.Type == "basic":
		req.SetBasicAuth(e.auth.Username, e.secret)
	case e.auth.Type == "header":
		req.Header.Set(e.auth.Header, e.secret)
	}
}

// failed says why there is no answer: what ended ctx, if it has ended.
func (e *engine) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return fmt.Errorf("the search provider can't be reached: %w", plain(err))
}

// plain takes the address, with the query in it, out of an error.
func plain(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// refusal says what a status means. The body is not shown: some providers repeat
// the key in it.
func refusal(res *http.Response) error {
	why := "did not accept the search"
	switch s := res.StatusCode; {
	case s == http.StatusUnauthorized:
		why = "did not accept its key"
	case s == http.StatusForbidden:
		why = "refuses the search: the key is not allowed to, or the server does not answer in JSON"
	case s == http.StatusTooManyRequests, s == 432, s == 433: // the last two are Tavily's, for a plan that is used up
		why = "allows no more searches now"
	case s >= 500:
		why = "failed"
	case s >= 300 && s < 400:
		why = "is somewhere else: it answers with a redirect, which is not followed"
	}
	return fmt.Errorf("the search provider %s (status %d)", why, res.StatusCode)
}

// tidy returns the first n results that lead somewhere, as plain text.
func tidy(found []Result, n int) []Result {
	out := []Result{}
	for _, r := range found {
		u, err := url.Parse(r.URL)
		if len(out) == n || err != nil || u.Scheme != "http" && u.Scheme != "https" {
			continue
		}
		out = append(out, Result{Title: short(r.Title, maxTitle), URL: r.URL, Snippet: short(r.Snippet, maxSnippet)})
	}
	return out
}

// short returns a text with single spaces, cut to n characters.
func short(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + "…"
	}
	return s
}
