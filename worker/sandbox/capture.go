package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// MaxLineBytes bounds a line handed to onLine; the rest of a longer one is dropped. Programs that report progress write
	// far less.
	MaxLineBytes = 64 << 10
	// MaxTailBytes bounds Outcome.LogTail: the error of a program is in its last screens.
	MaxTailBytes = 8 << 10
	// chunkBytes is the capacity of a pipe.
	chunkBytes = 64 << 10
	// floodPause slows down a program that has printed twice what is kept: at one chunk a pause it cannot keep the worker
	// busy with throwing its output away.
	floodPause = time.Millisecond
)

// capture keeps what a command prints: a log file of bounded size, the end of it in memory, and lines for a listener.
type capture struct {
	maxBytes int64
	lines    lineSplitter

	mu       sync.Mutex
	file     *os.File
	writeErr error // the first; after it nothing more is written, so that the log has no holes
	kept     int64
	dropped  int64
	tail     []byte
}

func newCapture(path string, maxBytes int64, onLine func(string)) (*capture, error) {
	// A link of this name can only have been left by a program that was not isolated; it is not followed.
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("create log: %w", err)
	}
	return &capture{maxBytes: maxBytes, file: file, lines: lineSplitter{onLine: onLine}}, nil
}

func (c *capture) readOutput(stream *os.File) {
	c.read(stream, c.lines.feed)
	c.lines.flush()
}

func (c *capture) readErrors(stream *os.File) { c.read(stream, func([]byte) {}) }

// read reads a stream to its end. Errors other than the end mean that its last writer was cut off, which is an end too.
func (c *capture) read(stream *os.File, also func([]byte)) {
	chunk := make([]byte, chunkBytes)
	for {
		n, err := stream.Read(chunk)
		if n > 0 {
			flooded := c.write(chunk[:n])
			also(chunk[:n])
			if flooded {
				time.Sleep(floodPause)
			}
		}
		if err != nil {
			return
		}
	}
}

// write keeps what there is room for. It reports whether the program prints more than anybody will read.
func (c *capture) write(chunk []byte) (flooded bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tail = append(c.tail, chunk[max(0, len(chunk)-MaxTailBytes):]...)
	c.tail = append(c.tail[:0], c.tail[max(0, len(c.tail)-MaxTailBytes):]...)

	room := min(int64(len(chunk)), c.maxBytes-c.kept)
	if c.writeErr != nil {
		room = 0
	}
	written := 0
	if room > 0 {
		written, c.writeErr = c.file.Write(chunk[:room])
	}
	c.kept += int64(written)
	c.dropped += int64(len(chunk) - written)
	return c.dropped > c.maxBytes
}

// close notes at the end of the log what is missing. It returns the error that cut the log short, if one did.
func (c *capture) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.writeErr
	if err == nil && c.dropped > 0 {
		_, err = fmt.Fprintf(c.file, "\n[%d more bytes of output were dropped; %d are kept]\n", c.dropped, c.kept)
	}
	return errors.Join(err, c.file.Close())
}

// summary returns the end of what was printed and how much of it is not in the log.
func (c *capture) summary() (tail string, dropped int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.ToValidUTF8(string(c.tail), "\uFFFD"), c.dropped
}

// lineSplitter cuts a stream into lines of at most MaxLineBytes for onLine, which may be nil.
type lineSplitter struct {
	onLine  func(string)
	partial []byte
}

func (s *lineSplitter) feed(chunk []byte) {
	if s.onLine == nil {
		return
	}
	for {
		line, rest, ended := bytes.Cut(chunk, []byte{'\n'})
		s.partial = append(s.partial, line[:min(len(line), MaxLineBytes-len(s.partial))]...)
		if !ended {
			return
		}
		s.emit()
		chunk = rest
	}
}

// flush hands on a last line that has no newline.
func (s *lineSplitter) flush() {
	if s.onLine != nil && len(s.partial) > 0 {
		s.emit()
	}
}

func (s *lineSplitter) emit() {
	s.onLine(strings.TrimSuffix(string(s.partial), "\r"))
	s.partial = s.partial[:0]
}
