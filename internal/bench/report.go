package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Verdict says whether a row holds its target.
type Verdict string

// The verdicts; a row without a target has none.
const (
	OK   Verdict = "ok"
	Over Verdict = "over" // on its wrong side
)

// Report is what a run found out.
type Report struct {
	Bench    string            `json:"bench"`
	At       time.Time         `json:"at"`
	Machine  Machine           `json:"machine"`
	Versions map[string]string `json:"versions"`
	Rows     []Row             `json:"figures"`
	Ratios   []Row             `json:"ratios"`
	Misses   []string          `json:"misses"` // what was promised and did not happen, one line each
	Notes    []string          `json:"notes"`
}

// Row is one figure: quantiles of times in milliseconds, or one value.
type Row struct {
	Name    string   `json:"name"`
	N       int      `json:"n,omitempty"`
	P50     *float64 `json:"p50_ms,omitempty"`
	P90     *float64 `json:"p90_ms,omitempty"`
	P99     *float64 `json:"p99_ms,omitempty"`
	Max     *float64 `json:"max_ms,omitempty"`
	Value   *float64 `json:"value,omitempty"`
	Unit    string   `json:"unit,omitempty"`
	Target  string   `json:"target,omitempty"`
	Verdict Verdict  `json:"verdict,omitempty"`
}

// Limit is a target for times; zero fields are no part of it. A time that is
// equal to its limit is over.
type Limit struct{ P50, P99, Max time.Duration }

func (l Limit) String() string {
	var parts []string
	for _, p := range []struct {
		name string
		d    time.Duration
	}{{"p50", l.P50}, {"p99", l.P99}, {"max", l.Max}} {
		if p.d > 0 {
			parts = append(parts, fmt.Sprintf("%s < %s", p.name, p.d))
		}
	}
	return strings.Join(parts, ", ")
}

func (l Limit) verdict(p50, p99, most time.Duration) Verdict {
	switch {
	case l == Limit{}:
		return ""
	case l.P50 > 0 && p50 >= l.P50, l.P99 > 0 && p99 >= l.P99, l.Max > 0 && most >= l.Max:
		return Over
	}
	return OK
}

// Times makes a row of measured times.
func Times(name string, d Dist, l Limit) Row {
	r := Row{Name: name, N: len(d), Target: l.String()}
	if len(d) == 0 {
		if r.Target != "" {
			r.Verdict = Over // nothing was seen to hold it
		}
		return r
	}
	r.P50, r.P90, r.P99, r.Max = ms(d.Quantile(.5)), ms(d.Quantile(.9)), ms(d.Quantile(.99)), ms(d.Max())
	r.Verdict = l.verdict(d.Quantile(.5), d.Quantile(.99), d.Max())
	return r
}

// Added makes a row of what with takes longer than without, quantile by quantile.
func Added(name string, with, without Dist, l Limit) Row {
	p50 := with.Quantile(.5) - without.Quantile(.5)
	p99 := with.Quantile(.99) - without.Quantile(.99)
	return Row{
		Name: name, N: min(len(with), len(without)), P50: ms(p50), P90: ms(with.Quantile(.9) - without.Quantile(.9)), P99: ms(p99),
		Target: l.String(), Verdict: l.verdict(p50, p99, 0),
	}
}

// Value makes a row of one value without a target.
func Value(name string, v float64, unit string) Row {
	return Row{Name: name, Value: new(v), Unit: unit}
}

// Below makes a row of a value that must be below limit.
func Below(name string, v, limit float64, unit string) Row {
	r := Value(name, v, unit)
	r.Target = strings.TrimSpace("< " + number(limit) + " " + unit)
	if r.Verdict = OK; v >= limit {
		r.Verdict = Over
	}
	return r
}

// AtLeast makes a row of a value that must reach a limit.
func AtLeast(name string, v, limit float64, unit string) Row {
	r := Value(name, v, unit)
	r.Target = strings.TrimSpace(">= " + number(limit) + " " + unit)
	if r.Verdict = OK; v < limit {
		r.Verdict = Over
	}
	return r
}

// None makes a row of a count that must be 0.
func None(name string, n int) Row {
	r := Row{Name: name, Value: new(float64(n)), Target: "0", Verdict: OK}
	if n > 0 {
		r.Verdict = Over
	}
	return r
}

func ms(d time.Duration) *float64 {
	return new(float64(d.Microseconds()) / 1000)
}

func (r *Report) add(rows ...Row) { r.Rows = append(r.Rows, rows...) }

func (r *Report) note(format string, a ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, a...))
}

// maxMisses bounds the report; how many there were is a figure.
const maxMisses = 5

func (r *Report) miss(format string, a ...any) {
	if len(r.Misses) < maxMisses {
		r.Misses = append(r.Misses, fmt.Sprintf(format, a...))
	}
}

// JSON writes the report as one object.
func (r *Report) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// Text writes the report as a table for people.
func (r *Report) Text(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "\nbelay bench %s: %s; Go %s, Postgres %s\n", r.Bench, r.Machine, r.Versions["go"], r.Versions["postgres"])
	fmt.Fprintf(&b, "Load generator, model, nodes and Postgres share this machine unless a note says otherwise.\n\n")
	table(&b, append(r.Rows[:len(r.Rows):len(r.Rows)], r.Ratios...))
	for _, m := range r.Misses {
		fmt.Fprintf(&b, "\nmissed: %s", m)
	}
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "\nnote: %s", n)
	}
	b.WriteString("\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// table aligns names and targets to the left and figures to the right.
func table(b *strings.Builder, rows []Row) {
	cells := [][]string{{"", "n", "p50 ms", "p90 ms", "p99 ms", "max ms", "value", "target", ""}}
	for _, r := range rows {
		n := ""
		if r.N > 0 {
			n = strconv.Itoa(r.N)
		}
		value := ""
		if r.Value != nil {
			value = strings.TrimSpace(number(*r.Value) + " " + r.Unit)
		}
		cells = append(cells, []string{r.Name, n, opt(r.P50), opt(r.P90), opt(r.P99), opt(r.Max), value, r.Target, string(r.Verdict)})
	}
	width := make([]int, len(cells[0]))
	for _, c := range cells {
		for i, s := range c {
			width[i] = max(width[i], utf8.RuneCountInString(s))
		}
	}
	for _, c := range cells {
		var line strings.Builder
		for i, s := range c {
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(s))
			if left := i == 0 || i >= 7; left {
				line.WriteString(s + pad + "  ")
			} else {
				line.WriteString(pad + s + "  ")
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}

func opt(v *float64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(*v, 'f', 2, 64)
}

// number has as many digits as tell something.
func number(v float64) string {
	prec := 2
	if v == float64(int64(v)) || v >= 100 || v <= -100 {
		prec = 0
	}
	return strconv.FormatFloat(v, 'f', prec, 64)
}
