package openai

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"unicode"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/belayrun/belay/internal/agent"
)

// Config is what a Client is made of.
type Config struct {
	// Model says where the model is and how long it may take. APIKey is the key
	// itself (APIKeyEnv is not looked at); empty sends no Authorization. Headers
	// are sent as they are and win over the Client's own.
	Model agent.Model
	// Transport carries the requests; nil makes a NewTransport of the Client's
	// own. Redirects are never followed: they would carry keys elsewhere.
	Transport http.RoundTripper
}

// Client calls one model of one provider. It is safe for concurrent use.
type Client struct {
	model     agent.Model
	api       goopenai.ClientConfig // its HTTPClient is set per call
	transport http.RoundTripper
	// completionTokens: the limit goes into max_completion_tokens.
	completionTokens bool
}

// New returns a Client; it connects to nothing. A model that can't be called as
// configured is an *agent.FieldError.
func New(cfg Config) (*Client, error) {
	m := cfg.Model
	if err := check(m); err != nil {
		return nil, err
	}
	c := &Client{model: m, transport: cfg.Transport, completionTokens: refusesMaxTokens(m.Model)}
	c.api = goopenai.DefaultConfig(m.APIKey)
	c.api.BaseURL = m.BaseURL
	if c.transport == nil {
		c.transport = NewTransport()
	}
	return c, nil
}

func check(m agent.Model) error {
	u, err := url.Parse(m.BaseURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return &agent.FieldError{Field: "base_url", Message: "must be an http or https URL"}
	}
	if m.Model == "" {
		return &agent.FieldError{Field: "model", Message: "is required: the provider's name of the model"}
	}
	if strings.ContainsFunc(m.APIKey, unicode.IsControl) {
		return &agent.FieldError{Field: "api_key", Message: "must not contain control characters"}
	}
	return nil
}

// refusesMaxTokens asks go-openai, which knows the families by name and would
// refuse the request itself.
func refusesMaxTokens(model string) bool {
	//lint:ignore SA1019 this is how to ask
	err := goopenai.NewReasoningValidator().Validate(goopenai.ChatCompletionRequest{Model: model, MaxTokens: 1})
	return errors.Is(err, goopenai.ErrReasoningModelMaxTokensDeprecated)
}

// CloseIdleConnections closes connections that are kept for later calls and in
// use by none, where the transport can do that.
func (c *Client) CloseIdleConnections() {
	if t, ok := c.transport.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

// Stream sends one request, once, when the iterator is run, and yields the
// answer as it arrives: text and reasoning piece by piece, each tool call whole
// and only after the model ended its answer, then the provider's count of
// tokens if it gave one, then Finish, the last delta of every whole answer.
//
// At most one error is yielded, last. If ctx has ended it is context.Cause(ctx),
// otherwise an *agent.ModelError, Retryable only if nothing of the answer had
// arrived. When the iterator returns, for whatever reason, the call is over at
// the provider too: its connection is closed, or idle after a whole answer.
func (c *Client) Stream(ctx context.Context, req agent.Request) iter.Seq2[agent.Delta, error] {
	return func(yield func(agent.Delta, error) bool) {
		if ctx.Err() != nil {
			yield(agent.Delta{}, context.Cause(ctx))
			return
		}
		call := c.begin(ctx)
		defer call.end()
		err := call.run(c.request(req), yield)
		if err != nil && !errors.Is(err, errLeft) {
			yield(agent.Delta{}, call.failure(err))
		}
	}
}
