// Package bench measures the promises of Belay against a running cluster: how
// long a stop takes to reach the provider's connection, what Belay adds to the
// time to the first text, what many streaming turns cost, and how long a stop
// takes to end a tool.
//
// The provider is a Model in the measuring process, so that the moment at which
// it sees its connection close is read from the same monotonic clock as the
// moment at which the stop was sent. Everything else reaches a run from outside
// through Env: how nodes are started, what the database alone takes, who counts
// its transactions.
//
// A run is bounded in count and time and ends with its context. Nothing is
// measured that a client, a provider or a scrape of /metrics could not see.
package bench
