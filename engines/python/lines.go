package python

import (
	"encoding/json"
	"math"
	"strings"
)

// maxLineBytes bounds a line that tells something; a longer one tells nothing.
const maxLineBytes = 8 << 10

// Reporting makes an engine an engines.Progresser.
type Reporting struct{}

// Progress reads a progress line; what else programs and their libraries print is none.
func (Reporting) Progress(line string) (fraction float64, message string, ok bool) {
	if len(line) > maxLineBytes || !strings.HasPrefix(line, `{"progress":`) {
		return 0, "", false
	}
	var said struct {
		Progress *float64 `json:"progress"`
		Message  string   `json:"message"`
	}
	if err := json.Unmarshal([]byte(line), &said); err != nil || said.Progress == nil {
		return 0, "", false
	}
	return math.Min(math.Max(*said.Progress, 0), 1), said.Message, true
}

// Saving makes an engine an engines.Checkpointer.
type Saving struct{}

// Checkpoint reads a line that names files of finished work, "checkpoint/<name>" below out/.
func (Saving) Checkpoint(line string) (names []string, ok bool) {
	if len(line) > maxLineBytes || !strings.HasPrefix(line, `{"checkpoint":`) {
		return nil, false
	}
	var said struct {
		Checkpoint []string `json:"checkpoint"`
	}
	if err := json.Unmarshal([]byte(line), &said); err != nil || len(said.Checkpoint) == 0 {
		return nil, false
	}
	return said.Checkpoint, true
}
