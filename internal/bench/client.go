package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// Client calls nodes and, past them, the model. It does not retry.
type Client struct {
	http  *http.Client
	token string
	agent string
}

// NewClient returns a client that asks this agent.
func NewClient(token, agent string) *Client {
	t := &http.Transport{
		DialContext:         (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
		MaxIdleConnsPerHost: 512,
		DisableCompression:  true,
	}
	return &Client{http: &http.Client{Transport: t}, token: token, agent: agent}
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

const prefix = "/api/client/v1"

func (c *Client) post(ctx context.Context, url string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+c.token)
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusAccepted {
		defer resp.Body.Close()
		b, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
		return nil, fmt.Errorf("POST %s: %s: %s", url, resp.Status, bytes.TrimSpace(b))
	}
	return resp, nil
}

// Ask begins a turn on a node and follows it. It returns when the node has said
// which conversation it is. The turn's stream is read until ctx ends.
func (c *Client) Ask(ctx context.Context, node, input string, how Reading) (*Follower, error) {
	return c.ask(ctx, node, how, map[string]any{"model": c.agent, "input": input, "stream": true})
}

// AskQueued is Ask for a background run.
func (c *Client) AskQueued(ctx context.Context, node, input string, how Reading) (*Follower, error) {
	return c.ask(ctx, node, how, map[string]any{"model": c.agent, "input": input, "stream": true, "background": true})
}

// Queue queues a background run and leaves it alone.
func (c *Client) Queue(ctx context.Context, node, input string) error {
	body, err := json.Marshal(map[string]any{"model": c.agent, "input": input, "background": true})
	if err != nil {
		return err
	}
	resp, err := c.post(ctx, node+prefix+"/agents/responses", body)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	return err
}

func (c *Client) ask(ctx context.Context, node string, how Reading, q map[string]any) (*Follower, error) {
	body, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	f := newFollower(how)
	resp, err := c.post(ctx, node+prefix+"/agents/responses", body)
	if err != nil {
		return nil, err
	}
	return f, f.follow(resp.Body)
}

// StopAnswer is what a node answers to a stop.
type StopAnswer struct {
	Cancelled bool     `json:"cancelled"`
	RunIDs    []string `json:"run_ids"`
}

// Stop stops a follower's turn through a node.
func (c *Client) Stop(ctx context.Context, node string, f *Follower) (a StopAnswer, err error) {
	resp, err := c.post(ctx, node+prefix+"/agents/conversations/"+f.Conversation+"/cancel", []byte(`{"run_id":"`+f.Run+`"}`))
	if err != nil {
		return a, err
	}
	defer resp.Body.Close()
	err = json.NewDecoder(resp.Body).Decode(&a)
	return a, err
}

// direct calls the model as a provider's client would, without Belay, until the
// first chunk. The body that it returns streams the rest.
func (c *Client) direct(ctx context.Context, modelURL, prompt string) (io.ReadCloser, error) {
	body, err := json.Marshal(map[string]any{"model": "bench", "stream": true,
		"stream_options": map[string]any{"include_usage": true},
		"messages":       []map[string]string{{"role": "user", "content": prompt}}})
	if err != nil {
		return nil, err
	}
	resp, err := c.post(ctx, modelURL+"/chat/completions", body)
	if err != nil {
		return nil, err
	}
	var first [16]byte
	if _, err := io.ReadFull(resp.Body, first[:]); err != nil {
		resp.Body.Close()
		return nil, err
	}
	return resp.Body, nil
}

// warm opens so many connections to a node, for requests that are to be sent at
// once.
func (c *Client) warm(ctx context.Context, node string, n int) {
	done := make(chan struct{})
	for range n {
		go func() {
			defer func() { done <- struct{}{} }()
			if resp, err := c.get(ctx, node+"/healthz"); err == nil {
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		}()
	}
	for range n {
		<-done
	}
}
