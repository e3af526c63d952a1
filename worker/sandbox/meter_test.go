package sandbox

import "testing"

// TestMeterReadsARunningCommand: what a command has used can be read at each of its lines, grows, holds what its ended and its
// running children used, and is no more than what it used in all.
func TestMeterReadsARunningCommand(t *testing.T) {
	t.Parallel()
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			t.Parallel()
			cfg := python(t)
			cfg.Isolation, cfg.Limits = mode.cfg.Isolation, mode.cfg.Limits
			spec := shellSpec(t, "")
			// A child that has been waited for burns a third of the time, one that still runs another.
			spec.Command.Argv = []string{"python", "-uc", `import os, time
def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end: pass
def child():
    if not os.fork():
        burn(0.2)
        print("child", flush=True)
        time.sleep(0.05)
        os._exit(0)
print("start")
child()
os.wait()
burn(0.2)
print("half")
child()
os.wait()
burn(0.2)`}
			spec.Meter = new(Meter)
			if _, ok := spec.Meter.Usage(); ok {
				t.Error("the meter tells of a command that has not been started")
			}
			var read []Usage
			got, err := newRunner(t, cfg).Run(t.Context(), spec, func(line string) {
				used, ok := spec.Meter.Usage()
				if !ok {
					t.Errorf("nothing to read at %q", line)
				}
				read = append(read, used)
			})
			if err != nil {
				t.Fatal(err)
			}
			expect(t, got, Exited, 0)
			if _, ok := spec.Meter.Usage(); ok {
				t.Error("the meter tells of a command that has ended")
			}
			if len(read) != 4 {
				t.Fatalf("read %+v, want four lines", read)
			}
			for i, least := range []int64{0, 150_000, 350_000, 550_000} { // ticks of ten milliseconds, of several processes
				used := read[i]
				// The last tick of each of three processes may be counted in full, or not at all.
				if used.CPUMicroseconds < least || used.CPUMicroseconds > got.Usage.CPUMicroseconds+30_000 || used.Wall <= 0 ||
					used.Wall > got.Usage.Wall {
					t.Errorf("line %d: used %+v, want at least %d µs and no more than %+v", i, used, least, got.Usage)
				}
			}
		})
	}
}
