package roles

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/molfabric/molfabric/internal/fleet"
)

// TestDemandAnswersAPool: the query describes the pool; what it does not know is refused, and what nobody knows is no zero.
func TestDemandAnswersAPool(t *testing.T) {
	t.Parallel()
	var asked time.Duration
	var away error
	handler := demandHandler(func(_ context.Context, longest time.Duration) (fleet.Demand, error) {
		asked = longest
		return fleet.Demand{Workers: []fleet.Worker{}, Classes: []fleet.Backlog{
			{Class: "cpu.blastp", Waiting: 100, Places: 100, CPUSeconds: 60_000},
			{Class: "gpu.openmm", Waiting: 6, Places: 6, GPUSeconds: 60_000}}}, away
	}, slog.New(slog.DiscardHandler))
	ask := func(query string) (status, wanted int) {
		t.Helper()
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/fleet/demand"+query, nil))
		var demand struct {
			Wanted *int   `json:"wanted"`
			Error  string `json:"error"`
		}
		if err := json.Unmarshal(answer.Body.Bytes(), &demand); err != nil {
			t.Fatal(err)
		}
		if (demand.Wanted == nil) != (answer.Code != http.StatusOK) || (demand.Error == "") != (answer.Code == http.StatusOK) {
			t.Errorf("%s: %d %s", query, answer.Code, answer.Body)
		}
		if demand.Wanted == nil {
			return answer.Code, -1
		}
		return answer.Code, *demand.Wanted
	}
	for query, want := range map[string]int{
		"": 100, "?slots=4": 25, "?slots=4&max=7": 7, "?slots=4&min=30": 30, "?slots=4&target=6000": 3,
		"?slots=16&devices=1": 7, "?slots=16&devices=1&class=gpu.*": 6, "?class=cpu.openmm&class=cpu.swan": 0,
	} {
		if status, got := ask(query); status != http.StatusOK || got != want {
			t.Errorf("%q: %d, wants %d workers, want %d", query, status, got, want)
		}
	}
	for _, query := range []string{"?slots=0", "?slots=x", "?max=-1", "?min=3&max=2", "?slot=4", "?class=[", "?class=",
		"?walltime=1e3", "?target=99999999999"} {
		if status, _ := ask(query); status != http.StatusBadRequest {
			t.Errorf("%q: %d, want it refused", query, status)
		}
	}
	if ask("?walltime=7200"); asked != 2*time.Hour {
		t.Errorf("asked for tasks of up to %s, want 2h", asked)
	}
	away = errors.New("no route to host")
	if status, _ := ask(""); status != http.StatusServiceUnavailable {
		t.Errorf("with a store away: %d, want 503", status)
	}
}
