package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/belayrun/belay/internal/openai/openaitest"
)

func mockModelCommand() *cobra.Command {
	var addr string
	var rate float64
	c := &cobra.Command{
		Use:   "mock-model",
		Short: "Serve the scripted, strict OpenAI-compatible model of the demo and the tests",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			m, err := startModel(addr, openaitest.WithRate(rate))
			if err != nil {
				return err
			}
			fmt.Fprintf(c.OutOrStdout(), "scripted model at %s\n", m.url)
			<-c.Context().Done()
			return m.Close()
		},
	}
	c.Flags().StringVar(&addr, "addr", "127.0.0.1:8090", "address to listen on")
	c.Flags().Float64Var(&rate, "rate", 20, "words per second; 0: without a pause")
	return c
}

// modelServer is the scripted model on a port of its own.
type modelServer struct {
	url  string // base URL of its API
	srv  *http.Server
	done chan struct{}
}

func startModel(addr string, options ...openaitest.Option) (*modelServer, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	m := &modelServer{
		url:  "http://" + l.Addr().String() + "/v1",
		srv:  &http.Server{Handler: openaitest.New(options...), ReadHeaderTimeout: 10 * time.Second},
		done: make(chan struct{}),
	}
	go func() {
		defer close(m.done)
		_ = m.srv.Serve(l) // ends with ErrServerClosed at Close
	}()
	return m, nil
}

// Close ends the server and the answers it is giving.
func (m *modelServer) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	if m.srv.Shutdown(ctx) != nil {
		_ = m.srv.Close()
	}
	<-m.done
	return nil
}
