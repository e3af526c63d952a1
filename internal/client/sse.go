package client

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"
)

// maxEventBytes bounds one event of a stream, and one line of it.
const maxEventBytes = 1 << 20

var errEventTooLarge = errors.New("an event of the stream is larger than 1 MiB")

// message is one block of a server-sent stream (WHATWG HTML, section 9.2.6). A block without data is a sign of life only.
type message struct {
	ID    string // the last id that the stream has stated, this block's or an earlier one's
	Kind  string
	Data  string
	Retry time.Duration // 0 when the block says nothing
}

// messageReader cuts a stream into messages.
type messageReader struct {
	lines *bufio.Scanner
	id    string
}

func newMessageReader(stream io.Reader) *messageReader {
	lines := bufio.NewScanner(stream)
	lines.Buffer(nil, maxEventBytes)
	lines.Split(splitLines())
	return &messageReader{lines: lines}
}

// next returns the next message that has data, and calls alive for every comment. At the end of the stream it is io.EOF; a
// message that the end has cut off is dropped, as the standard says.
func (r *messageReader) next(alive func()) (message, error) {
	m := message{Kind: "message"}
	var data strings.Builder
	hasData := false
	for r.lines.Scan() {
		line := r.lines.Text()
		if line == "" {
			if !hasData {
				m.Kind = "message"
				continue
			}
			m.ID, m.Data = r.id, data.String()
			return m, nil
		}
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "":
			alive()
		case "id":
			if !strings.Contains(value, "\x00") {
				r.id = value
			}
		case "event":
			m.Kind = value
		case "retry":
			m.Retry = retryTime(value)
		case "data":
			if hasData {
				data.WriteByte('\n')
			}
			data.WriteString(value)
			hasData = true
		}
		if data.Len() > maxEventBytes {
			return message{}, errEventTooLarge
		}
	}
	if err := r.lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return message{}, errEventTooLarge
	} else if err != nil {
		return message{}, err
	}
	return message{}, io.EOF
}

// retryTime reads the stream's own wait before a new connection: decimal digits, in milliseconds.
func retryTime(digits string) time.Duration {
	ms, err := strconv.ParseUint(digits, 10, 31)
	if err != nil {
		return 0
	}
	return min(time.Duration(ms)*time.Millisecond, longestWait)
}

// splitLines ends lines at LF, CRLF and CR alike, without waiting after a CR for what may follow it, and drops a byte order
// mark at the start.
func splitLines() bufio.SplitFunc {
	first, skipLF := true, false
	return func(data []byte, atEOF bool) (advance int, token []byte, err error) {
		mark := []byte("\xef\xbb\xbf")
		if first && len(data) < len(mark) && !atEOF && bytes.HasPrefix(mark, data) {
			return 0, nil, nil
		}
		start := 0
		switch {
		case first && bytes.HasPrefix(data, mark):
			start = len(mark)
		case skipLF && len(data) > 0 && data[0] == '\n':
			start = 1
		}
		end := bytes.IndexAny(data[start:], "\r\n")
		if end < 0 {
			if atEOF { // what follows the last line end is cut off and no line
				return len(data), nil, nil
			}
			return 0, nil, nil
		}
		first, skipLF = false, data[start+end] == '\r'
		return start + end + 1, data[start : start+end], nil
	}
}
