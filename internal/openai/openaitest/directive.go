package openaitest

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// maxWords bounds what a directive may ask for.
const maxWords = 1_000_000

// directives is what the slash lines of a message ask for.
type directives struct {
	words    int // 0: none asked for
	chunk    int
	delay    time.Duration // negative: by rate
	echo     string
	reason   bool
	tools    []ToolCall
	loop     int
	loopCall ToolCall
	hang     bool
	wait     time.Duration
	code     int
	fault    Reply // after some words
	length   bool
	nousage  bool
}

// parseDirectives reads the lines that begin with a slash. One that is not
// understood is a plain line.
func parseDirectives(text string) directives {
	d := directives{delay: -1}
	for line := range strings.Lines(text) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if strings.HasPrefix(name, "/") {
			d.apply(name[1:], strings.TrimSpace(rest))
		}
	}
	return d
}

func (d *directives) apply(name, rest string) {
	switch name {
	case "slow":
		d.words, d.delay = count(rest, 20), slow
	case "fast":
		d.words, d.delay = count(rest, 20), 0
	case "say":
		d.say(rest)
	case "echo":
		d.echo = rest
	case "code":
		d.echo = "The code word is " + rest + "."
	case "reason":
		d.reason = true
	case "tool":
		d.tools = append(d.tools, call(rest))
	case "loop":
		n, what, _ := strings.Cut(rest, " ")
		d.loop, d.loopCall = count(n, 1), call(strings.TrimSpace(what))
	case "hang":
		d.hang = true
	case "wait":
		d.wait = duration(rest)
	case "error":
		d.code = status(rest)
	case "length":
		d.length = true
	case "nousage":
		d.nousage = true
	default:
		d.applyFault(name)
	}
}

func (d *directives) applyFault(name string) {
	switch name {
	case "silent":
		d.fault = Reply{SilentForever()}
	case "cut":
		d.fault = Reply{CutConnection()}
	case "break":
		d.fault = Reply{End()}
	case "malformed":
		d.fault = Reply{Malformed()}
	}
}

func (d *directives) say(rest string) {
	d.words = 20
	for f := range strings.FieldsSeq(rest) {
		k, v, _ := strings.Cut(f, "=")
		switch k {
		case "words":
			d.words = count(v, 20)
		case "chunk":
			d.chunk = count(v, 1)
		case "delay":
			d.delay = duration(v)
		}
	}
}

func call(rest string) ToolCall {
	name, args, _ := strings.Cut(rest, " ")
	args = strings.TrimSpace(args)
	if !json.Valid([]byte(args)) {
		args = "{}"
	}
	return ToolCall{Name: name, Arguments: args}
}

func count(s string, otherwise int) int {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		return otherwise
	}
	return min(n, maxWords)
}

func duration(s string) time.Duration {
	if ms, err := strconv.Atoi(s); err == nil {
		return time.Duration(max(ms, 0)) * time.Millisecond
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return 0
	}
	return d
}

func status(s string) int {
	code, err := strconv.Atoi(s)
	if err != nil || code < 400 || code > 599 {
		return 500
	}
	return code
}
