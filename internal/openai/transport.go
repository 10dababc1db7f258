package openai

import (
	"net"
	"net/http"
	"time"
)

// NewTransport returns a transport for the calls of many Clients at once; share
// one per process. It keeps enough idle connections for thousands of turns
// against one host, asks for no compression (a compressed stream arrives in
// lumps) and uses no proxy unless Proxy is set. It bounds dialing and the TLS
// handshake only: how long an answer may take is the Client's to say.
func NewTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{
		DialContext:         dialer.DialContext,
		ForceAttemptHTTP2:   true,
		MaxIdleConnsPerHost: 1024,
		// Of each open stream; events are small, and what is larger just takes more reads.
		ReadBufferSize:        2 << 10,
		WriteBufferSize:       2 << 10,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
		DisableCompression:    true,
	}
}
