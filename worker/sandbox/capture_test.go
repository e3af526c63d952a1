package sandbox

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestLinesAreCut(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", MaxLineBytes)
	for name, test := range map[string]struct {
		chunks []string
		want   []string
	}{
		"nothing":               {nil, nil},
		"whole lines":           {[]string{"a\nb\n"}, []string{"a", "b"}},
		"a line in pieces":      {[]string{"a", "b", "c\nd"}, []string{"abc", "d"}},
		"empty lines":           {[]string{"\n\na\n"}, []string{"", "", "a"}},
		"carriage returns":      {[]string{"a\r\nb\rc\r\n"}, []string{"a", "b\rc"}},
		"the longest":           {[]string{long + "\n"}, []string{long}},
		"longer":                {[]string{long, "y\nz\n"}, []string{long, "z"}},
		"longer in one chunk":   {[]string{long + "yyy\nz"}, []string{long, "z"}},
		"longer without an end": {[]string{long, long, long}, []string{long}},
	} {
		var got []string
		s := lineSplitter{onLine: func(line string) { got = append(got, line) }}
		for _, chunk := range test.chunks {
			s.feed([]byte(chunk))
		}
		s.flush()
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: got %.100q, want %.100q", name, got, test.want)
		}
	}
}

// FuzzLines checks that cutting does not depend on how the stream was read.
func FuzzLines(f *testing.F) {
	f.Add([]byte("a\nb\r\n\nc"), uint8(2))
	f.Fuzz(func(t *testing.T, text []byte, size uint8) {
		cut := func(size int) (lines []string) {
			s := lineSplitter{onLine: func(line string) { lines = append(lines, line) }}
			for chunk := range slices.Chunk(text, size) {
				s.feed(chunk)
			}
			s.flush()
			return lines
		}
		if got, want := cut(int(size)+1), cut(max(1, len(text))); !slices.Equal(got, want) {
			t.Errorf("in chunks of %d: %q, at once: %q", int(size)+1, got, want)
		}
	})
}

func TestLogHoldsBothStreams(t *testing.T) {
	t.Parallel()
	r := newRunner(t, Config{})
	var lines []string
	spec := shellSpec(t, "echo one; echo two >&2; printf three")
	got, err := r.Run(t.Context(), spec, func(line string) { lines = append(lines, line) })
	if err != nil {
		t.Fatal(err)
	}
	expect(t, got, Exited, 0)
	if want := []string{"one", "three"}; !slices.Equal(lines, want) {
		t.Errorf("lines %q, want %q", lines, want)
	}
	log, err := os.ReadFile(got.LogPath)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{string(log), got.LogTail} {
		if !strings.Contains(text, "one") || !strings.Contains(text, "two") || !strings.Contains(text, "three") {
			t.Errorf("log %q, want all of both streams", text)
		}
	}
	if got.LogTruncatedBytes != 0 {
		t.Errorf("%d bytes dropped, want none", got.LogTruncatedBytes)
	}
}

// TestEndlessOutputIsBounded lets a program print without a newline until it is stopped.
func TestEndlessOutputIsBounded(t *testing.T) {
	t.Parallel()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	longest := 0
	spec := shellSpec(t, `exec tr '\0' '\377' </dev/zero`)
	spec.Needs.MaxLogBytes, spec.Needs.TimeLimit = 1000, 500*time.Millisecond
	got, err := newRunner(t, Config{}).Run(t.Context(), spec, func(line string) { longest = max(longest, len(line)) })
	if err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if got.Reason != TimedOut {
		t.Errorf("ended as %s, want %s", got.Reason, TimedOut)
	}
	if got.LogTruncatedBytes < 1<<20 || longest != MaxLineBytes {
		t.Errorf("%d bytes dropped and a line of %d, want more than 1 MiB and a line of %d", got.LogTruncatedBytes, longest,
			MaxLineBytes)
	}
	if rate := float64(got.LogTruncatedBytes) / got.Usage.Wall.Seconds(); rate > 200<<20 {
		t.Errorf("a flood was read at %.0f bytes/s: it is not slowed down", rate)
	}
	if len(got.LogTail) > 3*MaxTailBytes || !strings.HasPrefix(got.LogTail, "\uFFFD") {
		t.Errorf("tail of %d bytes: %.20q", len(got.LogTail), got.LogTail)
	}
	log, err := os.ReadFile(got.LogPath)
	if err != nil {
		t.Fatal(err)
	}
	if len(log) > 1200 || !bytes.HasPrefix(log, bytes.Repeat([]byte{0xff}, 1000)) ||
		!bytes.HasSuffix(log, []byte("1000 are kept]\n")) {
		t.Errorf("log of %d bytes: %.40q … %q", len(log), log, log[max(0, len(log)-80):])
	}
	if grown := int64(after.HeapInuse) - int64(before.HeapInuse); grown > 64<<20 {
		t.Errorf("memory grew by %d bytes", grown)
	}
}

// TestFullDiskEndsTheLogAndNothingElse writes a log to a device that is always full.
func TestFullDiskEndsTheLogAndNothingElse(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		missing(t, "/dev/full: %v", err)
	}
	c := &capture{maxBytes: 100, file: full}
	c.write([]byte("one"))
	c.write([]byte("two"))
	if tail, dropped := c.summary(); tail != "onetwo" || dropped != 6 {
		t.Errorf("tail %q, %d dropped, want all of it in the tail and none kept", tail, dropped)
	}
	if err := c.close(); err == nil {
		t.Error("close: no error, want that of the full disk")
	}
}

func TestLogIsNotWrittenThroughALink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	target := filepath.Join(dir, "target")
	if err := os.Symlink(target, filepath.Join(dir, logName)); err != nil {
		t.Fatal(err)
	}
	if _, err := newCapture(filepath.Join(dir, logName), 10, nil); err == nil {
		t.Error("the log was opened through a symbolic link")
	}
}
