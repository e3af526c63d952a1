package e2e

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestDoctorFindsTheRunningSystem asks without a home, with another one, and after the system has stopped.
func TestDoctorFindsTheRunningSystem(t *testing.T) {
	t.Parallel()
	state := "XDG_STATE_HOME=" + t.TempDir()
	s := start(t, state)
	named := func(one string) bool { return strings.HasPrefix(one, "MOLFABRIC_HOME=") }
	env := slices.DeleteFunc(append(os.Environ(), state, "HOME="+t.TempDir()), named)
	examine := func(args ...string) (notes map[string]string) {
		t.Helper()
		output, _ := s.part(env, append([]string{"doctor", "--json"}, args...)...).Output() // the home may lack what engines need
		var report struct {
			Parts []struct{ Part, Note string }
		}
		if err := json.Unmarshal(output, &report); err != nil {
			t.Fatalf("%v: %s", err, output)
		}
		notes = map[string]string{}
		for _, part := range report.Parts {
			notes[part.Part] = part.Note
		}
		return notes
	}
	if got := examine(); got["running system"] != s.url || got["molfabric"] != "home "+s.home+", from which a system runs" {
		t.Errorf("without a home: got %v", got)
	}
	elsewhere := examine("--home", t.TempDir())["running system"]
	if !strings.Contains(elsewhere, "none from this home") || !strings.Contains(elsewhere, s.home) {
		t.Errorf("with another home: got %s", elsewhere)
	}
	s.down()
	if got := examine(); strings.Contains(got["molfabric"], s.home) || !strings.Contains(got["molfabric"], "the default") {
		t.Errorf("after the stop: got %v", got)
	}
}
