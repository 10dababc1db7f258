package openai

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxLine bounds one event of a stream in bytes.
const maxLine = 16 << 20

var errLineTooLong = fmt.Errorf("an event of the stream is longer than %d bytes", maxLine)

// events reads the data lines of an event stream. Comments, blank lines and
// other fields are passed over; each data line is an event of its own, as all
// providers send them.
type events struct {
	r    *bufio.Reader
	long []byte // of a line that did not fit into r
}

func newEvents(r io.Reader) *events { return &events{r: bufio.NewReaderSize(r, 1<<10)} }

// next returns the data of the next event, valid until the call after it. The
// error is io.EOF when the stream ended; a line cut off by another error is lost.
func (e *events) next() ([]byte, error) {
	for {
		line, err := e.line()
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok && (err == nil || err == io.EOF) {
			if data = bytes.TrimSpace(data); len(data) > 0 {
				return data, nil
			}
		}
		if err != nil {
			return nil, err
		}
	}
}

func (e *events) line() ([]byte, error) {
	line, err := e.r.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, err
	}
	e.long = append(e.long[:0], line...)
	for errors.Is(err, bufio.ErrBufferFull) {
		if len(e.long) > maxLine {
			return nil, errLineTooLong
		}
		line, err = e.r.ReadSlice('\n')
		e.long = append(e.long, line...)
	}
	long := e.long
	e.long = nil
	return long, err
}
