package bench

import (
	"context"
	"fmt"
	"io"
	"time"
)

var limitStart = Limit{P50: 4 * time.Millisecond, P99: 15 * time.Millisecond}

// StartOptions say how much Start measures.
type StartOptions struct {
	N int // turns, and as many calls of the model alone
}

// Start measures the time from a request to its first text, through Belay and
// from the model alone, in turns. The model answers at once.
func Start(ctx context.Context, env *Env, o StartOptions) (*Report, error) {
	s := &startRun{env: env, client: NewClient(env.Token, env.Agent), report: env.report("start")}
	defer s.client.Close()
	pair, err := env.Open(ctx, true)
	if err != nil {
		return nil, err
	}
	err = s.measure(ctx, pair.URLs[0], o.N)
	if e := pair.Close(); err == nil {
		err = e
	}
	if err != nil {
		return nil, err
	}
	ours, alone := NewDist(s.ours), NewDist(s.alone)
	s.report.add(Times("first text through Belay", ours, Limit{}))
	if env.Model == nil {
		s.report.note("the agent's model is not this command's: what Belay adds can't be told from what the model takes")
		return s.report, nil
	}
	s.report.add(
		Times("first text of the model alone", alone, Limit{}),
		Added("added by Belay", ours, alone, limitStart),
		Times("whole turn of one chunk through Belay", NewDist(s.whole), Limit{}),
	)
	s.report.Ratios = append(s.report.Ratios, Value("through Belay / model alone, p50",
		float64(ours.Quantile(.5))/float64(max(alone.Quantile(.5), 1)), "x"))
	return s.report, nil
}

type startRun struct {
	env    *Env
	client *Client
	report *Report

	ours, alone, whole []time.Duration
}

// warmTurns are not counted.
const warmTurns = 10

func (s *startRun) measure(ctx context.Context, node string, n int) error {
	for i := range n + warmTurns {
		if i == warmTurns {
			s.ours, s.alone, s.whole = nil, nil, nil
		}
		if err := s.through(ctx, node); err != nil {
			return err
		}
		if s.env.Model == nil {
			continue
		}
		if err := s.direct(ctx); err != nil {
			return fmt.Errorf("the model alone: %w", err)
		}
	}
	return ctx.Err()
}

// through asks Belay and waits for the turn's end.
func (s *startRun) through(ctx context.Context, node string) error {
	_, input := s.env.call(1)
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	sent := time.Now()
	f, err := s.client.Ask(ctx, node, input, Reading{})
	if err != nil {
		return err
	}
	<-f.Done() // ends with ctx at the latest
	if end := f.End(); end.Event != "response.completed" {
		return fmt.Errorf("a turn ended %+v", end)
	}
	first := <-f.First()
	s.ours = append(s.ours, first.Sub(sent))
	s.whole = append(s.whole, f.End().At.Sub(sent))
	return nil
}

// direct asks the model as a provider's client would.
func (s *startRun) direct(ctx context.Context) error {
	call := s.env.Model.Call(1)
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	sent := time.Now()
	body, err := s.client.direct(ctx, s.env.ModelURL, call.Prompt)
	if err != nil {
		return err
	}
	defer body.Close()
	s.alone = append(s.alone, time.Since(sent))
	_, err = io.Copy(io.Discard, body)
	return err
}
