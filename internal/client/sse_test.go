package client

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

func readAll(t *testing.T, stream io.Reader) (messages []message, alive int, err error) {
	t.Helper()
	reader := newMessageReader(stream)
	for {
		m, err := reader.next(func() { alive++ })
		if err != nil {
			return messages, alive, err
		}
		messages = append(messages, m)
	}
}

func TestMessages(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, stream string
		want         []message
		alive        int
	}{
		{"one", "id: 7\nevent: status\ndata: {\"a\":1}\n\n", []message{{ID: "7", Kind: "status", Data: `{"a":1}`}}, 0},
		{"no space after the colon", "id:7\ndata:x\n\n", []message{{ID: "7", Kind: "message", Data: "x"}}, 0},
		{"retry goes with the next event", "retry: 1000\n\ndata: x\n\n",
			[]message{{Kind: "message", Data: "x", Retry: time.Second}}, 0},
		{"a wait is bounded", "retry: 99999999\ndata: x\n\n", []message{{Kind: "message", Data: "x", Retry: longestWait}}, 0},
		{"comments", ": heartbeat\n\n: again\n\n", nil, 2},
		{"an id stays", "id: 1\ndata: a\n\ndata: b\n\n", []message{{ID: "1", Kind: "message", Data: "a"},
			{ID: "1", Kind: "message", Data: "b"}}, 0},
		{"a kind does not stay", "event: task\n\ndata: b\n\n", []message{{Kind: "message", Data: "b"}}, 0},
		{"lines of data", "data: a\ndata\ndata: b\n\n", []message{{Kind: "message", Data: "a\n\nb"}}, 0},
		{"carriage returns", "data: a\r\n\r\ndata: b\r\rdata: c\n\r\n", []message{
			{Kind: "message", Data: "a"}, {Kind: "message", Data: "b"}, {Kind: "message", Data: "c"},
		}, 0},
		{"byte order mark", "\xef\xbb\xbfdata: a\n\n", []message{{Kind: "message", Data: "a"}}, 0},
		{"cut off", "data: a\n\ndata: b\n", []message{{Kind: "message", Data: "a"}}, 0},
		{"cut off in a line", "data: a\n\ndata: b", []message{{Kind: "message", Data: "a"}}, 0},
		{"unknown field", "colour: red\ndata: a\n\n", []message{{Kind: "message", Data: "a"}}, 0},
		{"id with NUL", "id: 1\x002\ndata: a\n\n", []message{{Kind: "message", Data: "a"}}, 0},
		{"empty", "", nil, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for _, stream := range []io.Reader{strings.NewReader(test.stream),
				iotest.OneByteReader(strings.NewReader(test.stream))} {
				got, alive, err := readAll(t, stream)
				if !errors.Is(err, io.EOF) || alive != test.alive || len(got) != len(test.want) {
					t.Fatalf("%q: got %+v, alive %d, %v; want %+v, alive %d, EOF", test.stream, got, alive, err, test.want,
						test.alive)
				}
				for i := range got {
					if got[i] != test.want[i] {
						t.Errorf("%q: message %d: got %+v, want %+v", test.stream, i, got[i], test.want[i])
					}
				}
			}
		})
	}
}

func TestMessagesAreBounded(t *testing.T) {
	t.Parallel()
	for name, stream := range map[string]string{
		"one line":   "data: " + strings.Repeat("x", maxEventBytes+1) + "\n\n",
		"many lines": strings.Repeat("data: "+strings.Repeat("x", 1000)+"\n", maxEventBytes/1000+1) + "\n",
	} {
		if _, _, err := readAll(t, strings.NewReader(stream)); !errors.Is(err, errEventTooLarge) {
			t.Errorf("%s: got %v, want %v", name, err, errEventTooLarge)
		}
	}
}

// FuzzMessages: whatever comes, the reader ends, and how the bytes are cut into packets makes no difference.
func FuzzMessages(f *testing.F) {
	f.Add("id: 7\nevent: status\ndata: {}\n\n")
	f.Add("\xef\xbb\xbfdata: a\r\rdata: b\r\n\r\n: c\n\n")
	f.Add("retry: 12\n\ndata\n\n\r\n")
	f.Fuzz(func(t *testing.T, stream string) {
		whole, aliveWhole, errWhole := readAll(t, strings.NewReader(stream))
		bytewise, aliveBytewise, errBytewise := readAll(t, iotest.OneByteReader(strings.NewReader(stream)))
		if len(whole) != len(bytewise) || aliveWhole != aliveBytewise || !errors.Is(errWhole, errBytewise) {
			t.Fatalf("%q: %+v, %d, %v at once; %+v, %d, %v byte by byte", stream, whole, aliveWhole, errWhole, bytewise,
				aliveBytewise, errBytewise)
		}
		for i := range whole {
			if whole[i] != bytewise[i] {
				t.Fatalf("%q: message %d: %+v at once, %+v byte by byte", stream, i, whole[i], bytewise[i])
			}
			if strings.ContainsAny(whole[i].ID+whole[i].Kind, "\r\n") {
				t.Fatalf("%q: message %d holds a line end: %+v", stream, i, whole[i])
			}
		}
	})
}
