package bench

import (
	"encoding/xml"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestEfficiencyIsOfEachFleet(t *testing.T) {
	t.Parallel()
	seconds := map[int][]float64{}
	for _, workers := range scaleWorkers {
		seconds[workers] = []float64{20, 20, 20, 20, 20}
	}
	seconds[16] = []float64{25, 25, 40, 25, 20}
	r := scaled(seconds)
	if r.Met || r.Figures["efficiencyAt16"] != 0.8 || r.Figures["efficiencyAt64"] != 1 || r.Comparison.Median != 1 ||
		r.Comparison.Void {
		t.Errorf("got %+v, want 0.8 at 16 workers to miss the goal", r)
	}
	if points := scaling(r.Figures); len(points) != len(scaleWorkers) {
		t.Errorf("the plot has %d points, want %d", len(points), len(scaleWorkers))
	}
}

func TestCostsLeaveOutWhatIsIdle(t *testing.T) {
	t.Parallel()
	idle := cost{CPUMicros: map[string]float64{partRedis: 1000}, RedisCommands: 10, Transactions: 2}
	spent := use{CPU: map[string]time.Duration{partRedis: 30 * time.Millisecond, partAPI: 4 * time.Millisecond}, RedisCommands: 300,
		Store: storeCounters{Transactions: 1, WALBytes: 500, Bytes: 800}}
	got := spent.beyond(idle, 8*time.Second).each(100) // with what it takes to settle, ten seconds
	for _, row := range got.rows() {
		want := map[string]float64{"redisCPUMicros": 200, "apiCPUMicros": 40, "redisCommands": 2, "postgresWALBytes": 5,
			"postgresStoredBytes": 8}[row.name]
		if math.Abs(row.value-want) > 1e-9 {
			t.Errorf("%s of a task is %v, want %v", row.name, row.value, want)
		}
	}
	var text strings.Builder
	c := costs{Task: got, Single: got, Idle: idle, Resting: idle, Rate: 100}
	c.print(&text)
	if lines := strings.Count(text.String(), "\n"); lines != len(got.rows())+3 {
		t.Errorf("the table has %d lines:\n%s", lines, text.String())
	}
	if r := c.result(); r.Figures["redisCPUMicrosPerTask"] != 200 || r.Figures["redisCommandsPerIdleSecond"] != 10 {
		t.Errorf("the figures are %v", r.Figures)
	}
}

func TestThousandIsWrittenWithItsPlots(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	bins := []latencyBin{{AtSeconds: 0.5, Tasks: 10, P50Ms: 5, P95Ms: 8, P99Ms: 9},
		{AtSeconds: 1.5, Tasks: 10, P50Ms: 6, P95Ms: 9, P99Ms: 20}}
	if err := (thousand{Workers: 1000, Steady: bins, Burst: bins}).write(folder); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"fleet-steady.svg", "fleet-burst.svg"} {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		var picture struct{ XMLName xml.Name }
		if err := xml.Unmarshal(text, &picture); err != nil || picture.XMLName.Local != "svg" {
			t.Errorf("%s is %q, %v; want a picture", name, picture.XMLName.Local, err)
		}
	}
	if text, err := os.ReadFile(filepath.Join(folder, "fleet.json")); err != nil || !strings.Contains(string(text), `"p99Ms": 20`) {
		t.Errorf("fleet.json: %v\n%s", err, text)
	}
}
