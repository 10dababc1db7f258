package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// The functions given to the methods below are called at every scrape, from any
// goroutine and perhaps from several at once: they must be quick and must not
// wait for the database. Each method may be called once per Metrics (Pool once
// per name); a second call panics.

// LeaseAge exports how long ago the node's lease was last renewed.
func (m *Metrics) LeaseAge(age func() time.Duration) {
	m.gauge("belay_lease_age_seconds", "Time since the node's lease was last renewed.",
		func() float64 { return age().Seconds() })
}

// Push exports whether the node hears of stops by push. Where it does not, it
// finds them by its poll.
func (m *Metrics) Push(on func() bool) {
	m.gauge("belay_push", "1 while the node listens for hints, 0 while it only polls.", func() float64 {
		if on() {
			return 1
		}
		return 0
	})
}

// Followers exports how many streams follow sessions on this node.
func (m *Metrics) Followers(n func() int) {
	m.gauge("belay_followers", "Streams that follow sessions on this node.", func() float64 { return float64(n()) })
}

// ClaimedTurns exports how many turns from the queue run on this node, and how
// many may.
func (m *Metrics) ClaimedTurns(stat func() (n, most int)) {
	m.gauge("belay_claimed_turns", "Turns from the queue that run on this node.", func() float64 { n, _ := stat(); return float64(n) })
	m.gauge("belay_claimed_turns_max", "Turns from the queue that this node runs at once.", func() float64 { _, most := stat(); return float64(most) })
}

func (m *Metrics) gauge(name, help string, f func() float64) {
	m.reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, f))
}

// PoolStat is what a pool of database connections says of itself. The last two
// only grow.
type PoolStat struct {
	Acquired  int           // in use
	Idle      int           // open and free
	Max       int           // limit of open connections
	WaitCount int64         // acquires that had to wait for a connection
	WaitTime  time.Duration // time spent in those waits
}

// Pool exports the figures of a pool; stat is called once per scrape, so they
// belong together. Name tells a node's pools apart.
func (m *Metrics) Pool(name string, stat func() PoolStat) {
	m.reg.MustRegister(newPool(name, stat))
}

// pool is a prometheus.Collector.
type pool struct {
	stat                            func() PoolStat
	acquired, idle, max, waits, sec *prometheus.Desc
}

func newPool(name string, stat func() PoolStat) *pool {
	desc := func(metric, help string) *prometheus.Desc {
		return prometheus.NewDesc(metric, help, nil, prometheus.Labels{"pool": name})
	}
	return &pool{
		stat:     stat,
		acquired: desc("belay_pool_acquired_connections", "Connections of the pool that are in use."),
		idle:     desc("belay_pool_idle_connections", "Connections of the pool that are open and free."),
		max:      desc("belay_pool_max_connections", "Most connections that the pool opens."),
		waits:    desc("belay_pool_waits_total", "Acquires that had to wait for a connection."),
		sec:      desc("belay_pool_wait_seconds_total", "Time spent waiting for a connection."),
	}
}

// Describe implements prometheus.Collector.
func (p *pool) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{p.acquired, p.idle, p.max, p.waits, p.sec} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (p *pool) Collect(ch chan<- prometheus.Metric) {
	s := p.stat()
	gauge := func(d *prometheus.Desc, n int) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(n))
	}
	gauge(p.acquired, s.Acquired)
	gauge(p.idle, s.Idle)
	gauge(p.max, s.Max)
	ch <- prometheus.MustNewConstMetric(p.waits, prometheus.CounterValue, float64(s.WaitCount))
	ch <- prometheus.MustNewConstMetric(p.sec, prometheus.CounterValue, s.WaitTime.Seconds())
}
