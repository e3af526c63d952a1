package sandbox

import (
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// otherNodes finds n harmless device nodes that no sandbox has by itself, to stand for accelerators.
func otherNodes(t testing.TB, n int) []string {
	t.Helper()
	own := []string{"console", "full", "null", "ptmx", "random", "tty", "urandom", "zero"}
	entries, err := os.ReadDir("/dev")
	if err != nil {
		t.Fatal(err)
	}
	var nodes []string
	for _, entry := range entries {
		if entry.Type()&fs.ModeCharDevice != 0 && !slices.Contains(own, entry.Name()) && len(nodes) < n {
			nodes = append(nodes, "/dev/"+entry.Name())
		}
	}
	if len(nodes) < n {
		missing(t, "device nodes beside the usual ones: %v, want %d", nodes, n)
	}
	return nodes
}

// TestACommandSeesItsOwnDevicesAlone: the nodes and what drivers' libraries read come with a device, and go with it.
func TestACommandSeesItsOwnDevicesAlone(t *testing.T) {
	t.Parallel()
	nodes := otherNodes(t, 3)
	devices := []Device{{ID: "GPU-a", Nodes: nodes[:2]}, {ID: "1", Nodes: nodes[1:]}}
	script := fmt.Sprintf(`for f in %s /sys/devices; do [ -e $f ] && echo $f; done; env | grep VISIBLE_DEVICES | sort`,
		strings.Join(nodes, " "))
	none := []string{"CUDA_VISIBLE_DEVICES=", "ROCR_VISIBLE_DEVICES="}
	for _, mode := range modes {
		for name, tt := range map[string]struct{ granted, want []string }{
			"none":  {nil, none},
			"one":   {[]string{"GPU-a"}, []string{nodes[0], nodes[1], "/sys/devices", "CUDA_VISIBLE_DEVICES=GPU-a", none[1]}},
			"other": {[]string{"1"}, []string{nodes[1], nodes[2], "/sys/devices", "CUDA_VISIBLE_DEVICES=1", none[1]}},
			"both": {[]string{"1", "GPU-a"}, []string{nodes[0], nodes[1], nodes[2], "/sys/devices", "CUDA_VISIBLE_DEVICES=1,GPU-a",
				none[1]}},
		} {
			t.Run(mode.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				cfg := mode.cfg
				cfg.Devices = devices
				spec := shellSpec(t, script)
				spec.Devices = tt.granted
				var got []string
				if _, err := newRunner(t, cfg).Run(t.Context(), spec, func(line string) { got = append(got, line) }); err != nil {
					t.Fatal(err)
				}
				want := tt.want
				if cfg.Isolation == Direct { // which has the machine's own /dev and /sys
					want = slices.Concat(nodes, []string{"/sys/devices"}, tt.want[len(tt.want)-2:])
				}
				if !slices.Equal(got, want) {
					t.Errorf("got %q, want %q", got, want)
				}
			})
		}
	}
}

func TestDevicesCannotBeTakenByOtherMeans(t *testing.T) {
	t.Parallel()
	r := newRunner(t, Config{Devices: []Device{{ID: "0", Nodes: []string{"/dev/full"}}}})
	stranger := shellSpec(t, "true")
	stranger.Devices = []string{"1"}
	inherited := shellSpec(t, "true")
	inherited.Command.Env = map[string]string{"CUDA_VISIBLE_DEVICES": "0"}
	for name, spec := range map[string]Spec{"unknown device": stranger, "a variable of the command": inherited} {
		if outcome, err := r.Run(t.Context(), spec, nil); err == nil {
			t.Errorf("%s: got %+v, want an error", name, outcome)
		}
	}
	if got := r.Describe(); !strings.Contains(got.String(), "GPUs: 0") || len(r.Devices()) != 1 {
		t.Errorf("described as %s", got)
	}
}

// AMD's libraries choose by NVIDIA's variable among what their own leaves.
func TestDevicesOfAMDAreNamedByTheirOwnVariable(t *testing.T) {
	t.Parallel()
	got := visibility([]Device{{ID: "1", Nodes: []string{"/dev/dri/renderD129", rocmNode}}})
	if want := map[string]string{"ROCR_VISIBLE_DEVICES": "1"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestDevicesAreChecked(t *testing.T) {
	t.Parallel()
	good := Device{ID: "0", Nodes: []string{"/dev/null"}}
	for name, devices := range map[string][]Device{
		"no node":           {{ID: "0"}},
		"no name":           {{Nodes: good.Nodes}},
		"name with a comma": {{ID: "0,1", Nodes: good.Nodes}},
		"twice":             {good, good},
		"absent":            {{ID: "0", Nodes: []string{"/dev/nvidia-absent"}}},
		"elsewhere":         {{ID: "0", Nodes: []string{"/etc/passwd"}}},
		"not clean":         {{ID: "0", Nodes: []string{"/dev/../dev/null"}}},
		"no node but a dir": {{ID: "0", Nodes: []string{"/dev/shm"}}},
		"too many":          make([]Device, maxDevices+1),
	} {
		if _, err := New(t.Context(), Config{Isolation: Direct, Limits: LimitsRlimits, Devices: devices}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// listing is what the driver of a machine with two devices says, the second of which does not know its memory.
const listing = "0, GPU-5c1c2f70-8a8e-8f7e-6a5b-0e6d3a1f0b11, 81559, NVIDIA H100 80GB HBM3\n" +
	"1, GPU-9d0e7a33-1111-2222-3333-444455556666, [N/A], NVIDIA GB10\n"

func TestListedDevices(t *testing.T) {
	t.Parallel()
	got, err := parseNvidia(listing)
	want := []Device{
		{ID: "GPU-5c1c2f70-8a8e-8f7e-6a5b-0e6d3a1f0b11", Name: "NVIDIA H100 80GB HBM3", MemoryBytes: 81559 << 20},
		{ID: "GPU-9d0e7a33-1111-2222-3333-444455556666", Name: "NVIDIA GB10"},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("got %+v, %v; want %+v", got, err, want)
	}
	if text := got[0].String(); text != "GPU-5c1c2f70-8a8e-8f7e-6a5b-0e6d3a1f0b11 NVIDIA H100 80GB HBM3 80 GiB" {
		t.Errorf("for people: %s", text)
	}
	for _, text := range []string{"No devices were found\n", "1, GPU-a, 1, x\n", "0, , 1, x\n", "0, GPU-a, 1\n",
		"0, GPU-a b, 1, x\n", strings.Repeat("0, GPU-a, 1, x\n", 2)} {
		if got, err := parseNvidia(text); err == nil {
			t.Errorf("%q: got %+v, want an error", text, got)
		}
	}
	if got, err := parseNvidia(""); err != nil || got != nil {
		t.Errorf("a driver without devices: got %v, %v", got, err)
	}
}

func FuzzParseNvidia(f *testing.F) {
	f.Add(listing)
	f.Add("0, GPU-a, -1, \n\n")
	f.Fuzz(func(t *testing.T, text string) {
		devices, err := parseNvidia(text)
		if err != nil {
			return
		}
		for _, device := range devices {
			if !deviceID.MatchString(device.ID) || device.MemoryBytes < 0 || len(devices) > maxDevices {
				t.Errorf("%q gives %+v", text, device)
			}
		}
	})
}

func TestChosenDevices(t *testing.T) {
	t.Parallel()
	listed, err := parseNvidia(listing)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		choice string
		listed []Device
		want   []Device // nil for an error
	}{
		{"0", listed, listed[:1]},
		{"1, 0", listed, []Device{listed[1], listed[0]}},
		{listed[1].ID, listed, listed[1:]},
		{"0=/dev/kfd+/dev/dri/renderD128", nil, []Device{{ID: "0", Nodes: []string{"/dev/kfd", "/dev/dri/renderD128"}}}},
		{"7", nil, []Device{{ID: "7", Nodes: nvidiaNodes(7)}}}, // without a program to ask
		{"2", listed, nil},
		{"-1", listed, nil},
		{"-1", nil, nil},
		{"64", nil, nil},
		{"GPU-x", listed, nil},
		{"", listed, nil},
		{"yes", nil, nil},
	} {
		got, err := chosenDevices(tt.choice, tt.listed)
		if (err == nil) != (tt.want != nil) || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%q of %d: got %+v, %v; want %+v", tt.choice, len(tt.listed), got, err, tt.want)
		}
	}
}

func TestNumbersOfNodesAreNotIndices(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for bus, text := range map[string]string{
		"0000:17:00.0": "Model: \t\t NVIDIA H100\nIRQ:   \t\t 17\nGPU UUID: \t GPU-a\nDevice Minor: \t 3\n",
		"0000:65:00.0": "GPU UUID: \t GPU-b\n",
	} {
		if err := os.MkdirAll(filepath.Join(dir, bus), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, bus, "information"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := nvidiaMinors(dir); !reflect.DeepEqual(got, map[string]int{"GPU-a": 3}) {
		t.Errorf("got %v, want that of GPU-a alone", got)
	}
}

func TestFindDevices(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	t.Setenv("PATH", t.TempDir()) // no driver's program
	for choice, want := range map[string]int{DevicesOff: 0, DevicesAuto: 0, "": 0, "0=/dev/null,1=/dev/zero+/dev/full": 2} {
		if got, err := FindDevices(t.Context(), choice, log); err != nil || len(got) != want {
			t.Errorf("%q: got %v, %v; want %d", choice, got, err, want)
		}
	}
	for _, choice := range []string{"63", "0=/dev/absent", "0=", "0=/dev/null,0=/dev/zero"} {
		if got, err := FindDevices(t.Context(), choice, log); err == nil {
			t.Errorf("%q: got %v, want an error", choice, got)
		}
	}
	// A driver that does not answer, as one that does not fit the kernel: none by themselves, an error where they were asked for.
	if err := os.WriteFile(filepath.Join(os.Getenv("PATH"), "nvidia-smi"), []byte("#!/bin/sh\necho no driver >&2; exit 9\n"),
		0o755); err != nil {
		t.Fatal(err)
	}
	if got, err := FindDevices(t.Context(), DevicesAuto, log); err != nil || got != nil {
		t.Errorf("auto: got %v, %v; want none", got, err)
	}
	if got, err := FindDevices(t.Context(), "0", log); err == nil {
		t.Errorf("0: got %v, want an error that says why", got)
	} else if !strings.Contains(err.Error(), "no driver") {
		t.Errorf("0: %v, which does not say what the driver said", err)
	}
}
