// Package httpapi is what the HTTP doors share: the router and its middleware,
// strict decoding, error documents and event streams.
//
// A door is a package below this one that speaks one API dialect. It hands over
// Routes; each Route's Handler decodes, calls one verb of the engine or one read
// of the store, and encodes. A Handler returns errors, and Explain is the one
// place that says what a kind of error is on the wire.
//
// All that is written here keeps working behind proxies and slow readers: no
// handler depends on the server's WriteTimeout, which would cut streams; each
// write has a deadline of its own, set through http.ResponseController on the
// real connection, so every wrapper here keeps Unwrap.
package httpapi
