package worker_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/worker"
	"github.com/molfabric/molfabric/worker/sandbox"
)

// probed is an engine with a version probe.
type probed struct {
	shell
	script string
}

func (p probed) Spec() engines.Spec {
	spec := p.shell.Spec()
	spec.Probe = engines.Probe{Argv: []string{"sh", "-c", p.script}, Check: func(stdout []byte) (map[string]string, error) {
		version := strings.TrimSpace(string(stdout))
		if version == "0.9" {
			return nil, errors.New("version 0.9 is known to be wrong")
		}
		return map[string]string{"sh": version}, nil
	}}
	return spec
}

func TestInspectOffersWhatWorks(t *testing.T) {
	t.Parallel()
	sandboxed, err := sandbox.New(t.Context(), sandbox.Config{Isolation: sandbox.Direct, Limits: sandbox.LimitsRlimits})
	if err != nil {
		t.Fatal(err)
	}
	registry := engines.NewRegistry(probed{shell{"good"}, "echo 1.2.7"}, probed{shell{"old"}, "echo 0.9"},
		probed{shell{"broken"}, "echo no module >&2; exit 1"},
		probed{shell{"silent"}, "true"})
	offers, refusals := worker.Inspect(t.Context(), sandboxed, registry)
	if len(offers) != 1 || offers[0].Engine != "good" || offers[0].Hardware != "cpu" || offers[0].Programs["sh"] != "1.2.7" {
		t.Errorf("offers %+v, want good 1.2.7", offers)
	}
	want := map[string]string{"old": "known to be wrong", "broken": "no module", "silent": "printed nothing"}
	if len(refusals) != len(want) {
		t.Errorf("refusals %+v, want %v", refusals, want)
	}
	for _, r := range refusals {
		if !strings.Contains(r.Reason.Error(), want[r.Engine]) {
			t.Errorf("%s is refused for %q, want %q", r.Engine, r.Reason, want[r.Engine])
		}
	}
}
