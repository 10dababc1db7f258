package openai_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/openai"
	"github.com/belayrun/belay/internal/openai/openaitest"
)

// canned answers each request with the same bytes, from memory.
type canned string

func (c canned) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(string(c)))}, nil
}

func drain(b *testing.B, c *openai.Client) (chunks int) {
	for d, err := range c.Stream(b.Context(), hello()) {
		if err != nil {
			b.Fatal(err)
		}
		if d.Text != "" {
			chunks++
		}
	}
	return chunks
}

func perChunk(b *testing.B, chunks int) {
	b.ReportMetric(float64(chunks)/b.Elapsed().Seconds(), "chunks/s")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(chunks), "ns/chunk")
}

// BenchmarkDecode is the client alone, on chunks as OpenAI sends them. An op is
// a call of 1,000 chunks.
func BenchmarkDecode(b *testing.B) {
	var s strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&s, `data: {"id":"chatcmpl-BxYzA1b2C3d4E5f6G7h8I9","object":"chat.completion.chunk","created":1753000000,"model":"gpt-4o-2024-08-06","service_tier":"default","system_fingerprint":"fp_a1b2c3d4e5","choices":[{"index":0,"delta":{"content":" word%d"},"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"f3Kq"}`+"\n\n", i)
	}
	s.WriteString(`data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n")
	c, err := openai.New(openai.Config{Model: agent.Model{BaseURL: "http://x", Model: "m"}, Transport: canned(s.String())})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	chunks := 0
	for b.Loop() {
		chunks += drain(b, c)
	}
	perChunk(b, chunks)
}

// BenchmarkStream is the client and the scripted provider over TCP, one stream
// as fast as it goes. An op is a call of 1,000 chunks.
func BenchmarkStream(b *testing.B) {
	chunks := make([]string, 1000)
	for i := range chunks {
		chunks[i] = fmt.Sprintf(" word%d", i)
	}
	r := replying(b, openaitest.Text(0, chunks...))
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		n += drain(b, r.client)
	}
	perChunk(b, n)
}

// BenchmarkStreams2000 is the load of a full node: 2,000 streams of 20 chunks
// per second, client and provider in one process. An op takes two seconds by
// itself; what counts is the share of the CPUs and how late the last stream is.
func BenchmarkStreams2000(b *testing.B) {
	const streams, each = 2000, 40
	words := strings.SplitAfter(strings.Repeat("belay ", each), " ")[:each]
	p := openaitest.New(openaitest.WithKeep(streams), openaitest.WithScript(func(openaitest.Request) openaitest.Reply {
		return openaitest.Reply{openaitest.Text(50*time.Millisecond, words...)}
	}))
	srv := httptest.NewServer(p)
	defer srv.Close()
	tr := openai.NewTransport()
	tr.MaxIdleConnsPerHost = streams
	c, err := openai.New(openai.Config{Model: agent.Model{BaseURL: srv.URL, Model: "m"}, Transport: tr})
	if err != nil {
		b.Fatal(err)
	}
	defer c.CloseIdleConnections()
	var chunks atomic.Int64
	start := cpu()
	for b.Loop() {
		var wg sync.WaitGroup
		for range streams {
			wg.Go(func() { chunks.Add(count(b, c)) })
		}
		wg.Wait()
	}
	used := cpu() - start
	if want := int64(b.N * streams * each); chunks.Load() != want {
		b.Errorf("%d chunks, want %d", chunks.Load(), want)
	}
	b.ReportMetric(float64(used.Nanoseconds())/float64(chunks.Load()), "cpu-ns/chunk")
	b.ReportMetric(used.Seconds()/b.Elapsed().Seconds(), "cpus")
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/stream")
}

func count(b *testing.B, c *openai.Client) (n int64) {
	for d, err := range c.Stream(context.Background(), hello()) {
		if err != nil {
			b.Error(err)
		}
		if d.Text != "" {
			n++
		}
	}
	return n
}

// cpu is what this process has used of the processors.
func cpu() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
