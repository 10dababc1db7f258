package openapi

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/belayrun/belay/internal/agent"
)

const (
	maxDocument  = 2 << 20
	maxDocuments = 256 // kept
	fetchTimeout = 10 * time.Second
)

// documents keeps documents that were read: inline ones by their hash, fetched
// ones by their address.
type documents struct {
	client *http.Client
	maxAge time.Duration

	mu   sync.Mutex
	kept map[string]*keptDocument
}

// keptDocument is one of them. Whoever has sent to busy may read and write it.
type keptDocument struct {
	busy chan struct{}
	hash [sha256.Size]byte
	at   time.Time // when it was fetched
	doc  *document // nil: not read yet, or it can't be
}

func newDocuments(c *http.Client, maxAge time.Duration) *documents {
	return &documents{client: c, maxAge: maxAge, kept: map[string]*keptDocument{}}
}

// get returns the document of a source; its agent.FieldErrors name fields of the
// ref.
func (d *documents) get(ctx context.Context, src *agent.OpenAPISource) (*document, error) {
	field, key := "openapi.document_url", "at "+src.DocumentURL
	if src.Document != "" {
		field, key = "openapi.document", fmt.Sprintf("is %x", sha256.Sum256([]byte(src.Document)))
	}
	k := d.keep(key)
	select {
	case k.busy <- struct{}{}:
		defer func() { <-k.busy }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	var err error
	switch {
	case src.Document == "":
		err = d.refresh(ctx, k, src.DocumentURL)
	case k.doc == nil:
		k.doc, err = parse([]byte(src.Document))
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, &agent.FieldError{Field: field, Message: "can't be used: " + err.Error()}
	}
	return k.doc, nil
}

func (d *documents) keep(key string) *keptDocument {
	d.mu.Lock()
	defer d.mu.Unlock()
	k, ok := d.kept[key]
	if !ok {
		for other := range d.kept {
			if len(d.kept) < maxDocuments {
				break
			}
			delete(d.kept, other) // any: it is read again when it is asked for
		}
		k = &keptDocument{busy: make(chan struct{}, 1)}
		d.kept[key] = k
	}
	return k
}

// refresh fetches a document that is not there or too old, and reads it where it
// has changed. An old one outlives a fetch that fails.
func (d *documents) refresh(ctx context.Context, k *keptDocument, address string) error {
	if k.doc != nil && time.Since(k.at) < d.maxAge {
		return nil
	}
	b, err := d.fetch(ctx, address)
	if err == nil {
		hash := sha256.Sum256(b)
		if k.doc == nil || hash != k.hash {
			var doc *document
			if doc, err = parse(b); err == nil {
				k.doc, k.hash = doc, hash
			}
		}
	}
	if err != nil && k.doc == nil {
		return err
	}
	k.at = time.Now()
	return nil
}

func (d *documents) fetch(ctx context.Context, address string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, bare(err)
	}
	req.Header.Set("Accept", "application/json, application/yaml;q=0.9, */*;q=0.5")
	res, err := d.client.Do(req)
	if err != nil {
		return nil, bare(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("it was answered with %s", status(res.StatusCode))
	}
	b, err := io.ReadAll(io.LimitReader(res.Body, maxDocument+1))
	if err != nil {
		return nil, bare(err)
	}
	return b, nil
}
