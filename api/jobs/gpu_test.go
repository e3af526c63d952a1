package jobs

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/scheduler"
)

// TestDeviceTimeIsShownWhereItWasUsed: an answer about a job without devices is as it was before there were any.
func TestDeviceTimeIsShownWhereItWasUsed(t *testing.T) {
	t.Parallel()
	book, err := billing.LoadBook("")
	if err != nil {
		t.Fatal(err)
	}
	quoted := func(onGPU *billing.GPUWork) contract.EstimateResponse {
		quote, err := book.Quote(billing.QuoteRequest{Engine: "autodock-vina", Hardware: "cpu", ExpectedCPUSeconds: 3600,
			OnGPU: onGPU})
		if err != nil {
			t.Fatal(err)
		}
		return estimateAnswer(scheduler.Estimation{Quote: quote})
	}
	for name, tt := range map[string]struct {
		answer any
		member string
		shown  bool
	}{
		"usage without":    {usage{CPUMicroseconds: 1}.view(), `"gpuSeconds"`, false},
		"usage with":       {usage{GPUMicroseconds: 41_000_001}.view(), `"gpuSeconds":41.000001`, true},
		"estimate without": {quoted(nil), `"gpuRate"`, false},
		"estimate with":    {quoted(&billing.GPUWork{ExpectedGPUSeconds: 1}), `"gpuRate":1.20`, true},
	} {
		text, err := json.Marshal(tt.answer)
		if err != nil || strings.Contains(string(text), tt.member) != tt.shown {
			t.Errorf("%s: %s, %v; has %s: %v, want %v", name, text, err, tt.member, !tt.shown, tt.shown)
		}
	}
}
