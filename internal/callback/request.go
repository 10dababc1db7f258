package callback

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/belayrun/belay/internal/agent"
)

// request makes the request of one attempt. The signature is over the id, the
// attempt's time and the exact bytes of the body.
func request(ctx context.Context, d agent.Delivery, now time.Time) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.Callback.URL, bytes.NewReader(d.Body))
	if err != nil {
		return nil, errors.New("the address is not a URL")
	}
	h := req.Header
	for name, value := range d.Callback.Headers {
		h.Set(name, value)
	}
	h.Set("Content-Type", "application/json")
	h.Set("User-Agent", "belay-callback/1")
	id, at := d.EventID(), strconv.FormatInt(now.Unix(), 10)
	h.Set("webhook-id", id)
	h.Set("webhook-timestamp", at)
	if d.Callback.Secret == "" {
		return req, nil
	}
	key, err := agent.SigningKey(d.Callback.Secret)
	if err != nil {
		return nil, err
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.", id, at)
	mac.Write(d.Body)
	h.Set("webhook-signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	return req, nil
}

// Event makes the body of a run's delivery around what it tells.
func Event(d agent.Delivery, data any) ([]byte, error) {
	return json.Marshal(struct {
		ID           string `json:"id"`
		Event        string `json:"event"`
		CreatedAt    int64  `json:"created_at"`
		RunID        string `json:"run_id"`
		Conversation string `json:"conversation_id"`
		Data         any    `json:"data"`
	}{d.EventID(), d.Event, d.CreatedAt.Unix(), "run_" + d.Turn, d.Session, data})
}

// explain says why nothing was answered, in the words that a caller may read.
func (w *Worker) explain(err error) error {
	var timeout net.Error
	var dns *net.DNSError
	var record tls.RecordHeaderError
	var cert *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	switch {
	case w.cfg.Refused != nil && errors.Is(err, w.cfg.Refused):
		return errors.New("the address is not public, so nothing was sent")
	case errors.As(err, &dns):
		return errors.New("the host's name does not resolve")
	case errors.As(err, &timeout) && timeout.Timeout():
		return errors.New("no answer within the time limit")
	case errors.As(err, &record), errors.As(err, &cert), errors.As(err, &unknown):
		return errors.New("the TLS handshake failed")
	}
	return errors.New("the connection failed")
}
