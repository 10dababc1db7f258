package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"reflect"
	"sync"

	"github.com/belayrun/belay/internal/agent"
	"github.com/belayrun/belay/internal/openai"
	"github.com/belayrun/belay/internal/postgres"
	"github.com/belayrun/belay/internal/turn"
)

// models makes clients for the models that the database holds. A client is kept
// for as long as its model's configuration stays the same.
type models struct {
	store     *postgres.Store
	transport http.RoundTripper

	mu      sync.Mutex
	clients map[[2]string]modelClient // by project and key
}

type modelClient struct {
	cfg agent.Model
	*openai.Client
}

func newModels(store *postgres.Store) *models {
	return &models{store: store, transport: openai.NewTransport(), clients: make(map[[2]string]modelClient)}
}

// Model implements turn.Models.
func (m *models) Model(ctx context.Context, project, key string) (agent.Model, turn.Model, error) {
	cfg, err := m.store.Model(ctx, project, key)
	if err != nil {
		return agent.Model{}, nil, err
	}
	if cfg.APIKeyEnv != "" {
		if cfg.APIKey = os.Getenv(cfg.APIKeyEnv); cfg.APIKey == "" {
			return agent.Model{}, nil, fmt.Errorf("model %s: the environment variable %s is not set on this node", key, cfg.APIKeyEnv)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	id := [2]string{project, key}
	if c, ok := m.clients[id]; ok && reflect.DeepEqual(c.cfg, cfg) {
		return cfg, c.Client, nil
	}
	c, err := openai.New(openai.Config{Model: cfg, Transport: m.transport})
	if err != nil {
		return agent.Model{}, nil, fmt.Errorf("model %s: %w", key, err)
	}
	m.clients[id] = modelClient{cfg, c}
	return cfg, c, nil
}

// close closes connections to providers that nobody uses.
func (m *models) close() {
	if t, ok := m.transport.(*http.Transport); ok {
		t.CloseIdleConnections()
	}
}
