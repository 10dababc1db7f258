package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// scrape reads a node's /metrics: every series, and the sum of a name's series.
func (c *Client) scrape(ctx context.Context, node string) (map[string]float64, error) {
	resp, err := c.get(ctx, node+"/metrics")
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s/metrics: %s", node, resp.Status)
	}
	out := make(map[string]float64)
	s := bufio.NewScanner(resp.Body)
	s.Buffer(make([]byte, 16<<10), 1<<20)
	for s.Scan() {
		line := s.Text()
		i := strings.LastIndexByte(line, ' ')
		if i < 0 || strings.HasPrefix(line, "#") {
			continue
		}
		name, _, labels := strings.Cut(line[:i], "{")
		v, err := strconv.ParseFloat(line[i+1:], 64)
		if err != nil {
			continue
		}
		out[name] += v
		if labels {
			out[line[:i]] = v
		}
	}
	return out, s.Err()
}

// push asks a node whether it hears of stops by push.
func (c *Client) push(ctx context.Context, node string) (bool, error) {
	resp, err := c.get(ctx, node+"/readyz")
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	var r struct{ Status, Push string }
	if err := json.NewDecoder(resp.Body).Decode(&r); err != nil {
		return false, fmt.Errorf("%s/readyz: %w", node, err)
	}
	if resp.StatusCode != http.StatusOK {
		return false, fmt.Errorf("%s is not ready: %s", node, r.Status)
	}
	return r.Push == "on", nil
}

func (c *Client) get(ctx context.Context, url string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	return c.http.Do(req)
}
