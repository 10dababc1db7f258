package turn

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/belayrun/belay/internal/agent"
)

// toolbox holds an agent's tools by the names that the model knows.
type toolbox map[string]agent.Tool

func (b toolbox) specs() []agent.ToolSpec {
	out := make([]agent.ToolSpec, 0, len(b))
	for _, t := range b {
		out = append(out, t.Spec)
	}
	sortSpecs(out)
	return out
}

// ask makes one step: a model call, with the retries and fallbacks that its
// configuration allows. It returns the calls that the model asks for, none when
// it has answered; the answer then is the draft.
func (r *run) ask(ctx context.Context, box toolbox, h *history) ([]agent.Call, error) {
	if err := r.withinLimits(); err != nil {
		return nil, err
	}
	r.draft = &agent.Draft{Index: r.index}
	req := agent.Request{
		Prompts: h.prompts, Tools: box.specs(),
		Temperature: r.turn.Spec.Temperature, TopP: r.turn.Spec.TopP, MaxOutputTokens: r.maxOutput(),
	}
	s, err := r.tryModels(ctx, req)
	if err != nil {
		return nil, err
	}
	if s.finish == agent.FinishLength {
		return nil, limited(r.lengthLimit())
	}
	if len(s.calls) == 0 {
		return nil, nil
	}
	h.name(s.calls)
	r.journal.emit(agent.Message{
		Index: r.draft.Index, Role: agent.RoleAssistant, Text: r.draft.Text, Reasoning: r.draft.Reasoning,
		Calls: s.calls, Status: agent.StatusCompleted, Usage: r.draft.Usage,
	})
	h.prompts = append(h.prompts, agent.Prompt{Role: agent.RoleAssistant, Text: r.draft.Text, Calls: s.calls})
	r.draft, r.index = nil, r.index+1
	h.calls += len(s.calls)
	if most := orDefault(r.turn.Spec.Limits.MaxToolCalls, agent.DefaultMaxToolCalls); h.calls > most {
		jobs, _ := r.sortCalls(nil, s.calls)
		r.notStarted(jobs, nil)
		return nil, limited("max_tool_calls")
	}
	return s.calls, nil
}

func orDefault(n, d int) int {
	if n == 0 {
		return d
	}
	return n
}

// withinLimits looks at what the turn has spent before it spends more.
func (r *run) withinLimits() error {
	l := r.turn.Spec.Limits
	switch {
	case l.MaxTotalOutputTokens > 0 && r.spent.Output >= l.MaxTotalOutputTokens:
		return limited("max_total_output_tokens")
	case l.MaxCostUSD > 0 && r.spent.CostUSD >= l.MaxCostUSD:
		return limited("max_cost_usd")
	}
	return nil
}

// maxOutput is how many tokens the next call may answer, 0 for no bound of ours.
func (r *run) maxOutput() int {
	most := r.turn.Spec.MaxOutputTokens
	if l := r.turn.Spec.Limits.MaxTotalOutputTokens; l > 0 {
		if left := int(l - r.spent.Output); most == 0 || left < most {
			most = left
		}
	}
	return most
}

// lengthLimit names the limit that a model call ran into.
func (r *run) lengthLimit() string {
	if l := r.turn.Spec.Limits.MaxTotalOutputTokens; l > 0 && r.spent.Output >= l {
		return "max_total_output_tokens"
	}
	return "max_output_tokens"
}

// tryModels calls the agent's model, then its fallbacks, each as often as it may
// be retried. Nothing is tried again once a delta has come, or once the context
// has ended: that is looked at before anything else.
func (r *run) tryModels(ctx context.Context, req agent.Request) (*stream, error) {
	var err error
	for _, key := range append([]string{r.turn.Spec.Model}, r.turn.Spec.FallbackModels...) {
		f, e := r.findModel(ctx, key)
		if c := ctxErr(ctx); c != nil {
			return nil, c
		}
		if e != nil {
			err = modelMissing(key, e)
			continue
		}
		for attempt := 0; ; attempt++ {
			if err := r.e.keep.await(ctx, r.lease.Node); err != nil {
				return nil, err
			}
			s := &stream{run: r, model: f.model, cfg: f.cfg, req: req}
			err = s.read(ctx)
			if c := ctxErr(ctx); c != nil {
				return nil, c
			}
			if err == nil {
				return s, nil
			}
			if s.began {
				return nil, err
			}
			if !again(ctx, err, attempt, f.cfg.MaxRetries()) {
				break
			}
		}
		if c := ctxErr(ctx); c != nil {
			return nil, c
		}
	}
	return nil, err
}

// found is a model with its configuration.
type found struct {
	cfg   agent.Model
	model Model
}

// lookup is a model that is being looked up while its leg makes ready.
type lookup struct {
	key  string
	stop context.CancelFunc
	done chan struct{} // closed when the rest is there
	found
	err error
}

// lookAhead begins to look for the agent's model; wait must follow.
func (r *run) lookAhead(ctx context.Context) {
	ctx, stop := context.WithCancel(ctx)
	l := &lookup{key: r.turn.Spec.Model, stop: stop, done: make(chan struct{})}
	r.ahead, r.used = l, false
	go func() {
		defer close(l.done)
		defer func() {
			if p := recover(); p != nil {
				l.err = fmt.Errorf("panic while finding model %q: %v", l.key, p)
			}
		}()
		l.found, l.err = r.lookUp(ctx, l.key)
	}()
}

// wait ends the looking up.
func (l *lookup) wait() {
	l.stop()
	<-l.done
}

// findModel returns a model; what was looked up ahead is used once.
func (r *run) findModel(ctx context.Context, key string) (found, error) {
	if l := r.ahead; l.key == key && !r.used {
		r.used = true
		<-l.done
		return l.found, l.err
	}
	return r.lookUp(ctx, key)
}

// lookUp waits for a database that is away: that ends no turn.
func (r *run) lookUp(ctx context.Context, key string) (found, error) {
	return retry(ctx, func() (f found, err error) {
		f.cfg, f.model, err = r.e.cfg.Models.Model(ctx, r.session.Project, key)
		return f, err
	})
}

func modelMissing(key string, err error) error {
	if errors.Is(err, agent.ErrNotFound) {
		return &agent.Failure{Code: agent.CodeModelMissing, Message: fmt.Sprintf("The model %q does not exist.", key)}
	}
	return fmt.Errorf("find model %q: %w", key, err)
}

// maxRetryAfter is the longest wait that a provider may ask for; one that asks
// for more is taken to have refused.
const maxRetryAfter = time.Minute

// again waits before a retry, and reports whether there is to be one. The wait
// ends when ctx does.
func again(ctx context.Context, err error, attempt, most int) bool {
	m, ok := errors.AsType[*agent.ModelError](err)
	if !ok || !m.Retryable || attempt >= most || m.RetryAfter > maxRetryAfter {
		return false
	}
	wait := m.RetryAfter
	if wait == 0 {
		wait = time.Duration(float64(250*time.Millisecond<<min(attempt, 5)) * (0.5 + rand.Float64()))
	}
	return sleep(ctx, wait)
}

// stream is one model call under way.
type stream struct {
	run   *run
	model Model
	cfg   agent.Model
	req   agent.Request

	sent, first time.Time
	text        strings.Builder
	reasoning   strings.Builder
	calls       []agent.Call
	counted     *agent.Tokens
	finish      agent.Finish
	began       bool // a delta has come
}

// read makes the call and shows what comes. Whatever happens, the call leaves
// one usage row, and the draft holds what was shown.
func (s *stream) read(ctx context.Context) (err error) {
	s.sent = time.Now()
	defer func() { s.account(ctx, err) }()
	for d, err := range s.model.Stream(ctx, s.req) {
		if err != nil {
			return err
		}
		if ctx.Err() != nil { // whatever the provider still says
			break
		}
		s.take(d)
	}
	return ctxErr(ctx)
}

func (s *stream) take(d agent.Delta) {
	j := s.run.journal
	switch {
	case d.Text != "":
		s.begin()
		s.text.WriteString(d.Text)
		j.emit(agent.TextDelta{Text: d.Text})
	case d.Reasoning != "":
		s.begin()
		s.reasoning.WriteString(d.Reasoning)
		j.emit(agent.ReasoningDelta{Text: d.Reasoning})
	case d.Call != nil:
		s.begin()
		s.calls = append(s.calls, *d.Call)
	}
	if d.Usage != nil {
		s.counted = d.Usage
	}
	if d.Finish != "" {
		s.finish = d.Finish
	}
}

func (s *stream) begin() {
	if s.began {
		return
	}
	s.began, s.first = true, time.Now()
	if !s.run.text {
		s.run.text = true
		s.run.e.obs.FirstText(time.Since(s.run.began))
	}
}

// account writes the call's usage row and hands the text to the draft.
func (s *stream) account(ctx context.Context, err error) {
	r := s.run
	if _, stopped := errors.AsType[*agent.Stop](context.Cause(ctx)); stopped {
		r.stage(StageModelClosed)
	}
	r.calls++
	u := agent.Usage{Call: r.calls, Model: s.cfg.Key, Status: s.status(ctx, err), LatencyMS: time.Since(s.sent).Milliseconds(), At: s.sent}
	if s.began {
		u.FirstTokenMS = new(s.first.Sub(s.sent).Milliseconds())
	}
	u.Tokens = s.tokens(u.Status)
	u.CostUSD = s.cfg.Pricing.Cost(u.Tokens)
	r.usage, r.spent = append(r.usage, u), r.spent.Add(u.Tokens)
	r.draft.Text, r.draft.Reasoning, r.draft.Usage = s.text.String(), s.reasoning.String(), &u
	r.e.obs.ModelCall(u)
}

func (s *stream) status(ctx context.Context, err error) agent.UsageStatus {
	switch {
	case ctx.Err() != nil:
		return agent.UsageCancelled
	case err != nil:
		return agent.UsageError
	}
	return agent.UsageOK
}

// tokens are the provider's figures, or an estimate where it gave none: also
// for an aborted call, whose input was read and whose text was produced. What a
// provider said of the output before the call broke off is no more than a
// beginning. A call that failed before it began has cost nothing that we know of.
func (s *stream) tokens(status agent.UsageStatus) agent.Tokens {
	switch {
	case s.counted != nil && status == agent.UsageOK:
		return *s.counted
	case s.counted == nil && status == agent.UsageError && !s.began:
		return agent.Tokens{}
	}
	t := s.model.CountTokens(s.req, s.text.String()+s.reasoning.String())
	if s.counted != nil {
		if s.counted.Output >= t.Output {
			return *s.counted
		}
		t.Input, t.CachedInput, t.Estimated = s.counted.Input, s.counted.CachedInput, true
	}
	return t
}
