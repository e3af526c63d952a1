package sandbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Choices of devices beside a list of them.
const (
	DevicesAuto = "auto" // those that NVIDIA's driver lists; none without one
	DevicesOff  = "off"
)

// maxDevices bounds the devices of one machine: the largest have sixteen.
const maxDevices = 64

// Device is an accelerator of this machine.
type Device struct {
	// by which its driver finds it, wherever it comes in the driver's order: a UUID, or an index where that is all there is
	ID          string
	Name        string   // for people; "" when unknown
	Nodes       []string // below /dev; several devices may share some of them
	MemoryBytes int64    // 0 when unknown
}

// String is one device for people.
func (d Device) String() string {
	words := []string{d.ID}
	if d.Name != "" {
		words = append(words, d.Name)
	}
	if d.MemoryBytes > 0 {
		words = append(words, fmt.Sprintf("%.0f GiB", float64(d.MemoryBytes)/(1<<30)))
	}
	return strings.Join(words, " ")
}

// Variables by which a command's libraries are told which devices are theirs.
const (
	cudaVisible = "CUDA_VISIBLE_DEVICES"
	rocmVisible = "ROCR_VISIBLE_DEVICES"
	rocmNode    = "/dev/kfd"
)

// visibility is the environment that lets a command see its devices and no others. AMD's libraries read NVIDIA's variable too, as a
// choice among what their own leaves, so a command on AMD's devices must not have it.
func visibility(granted []Device) map[string]string {
	var ids []string
	amd := false
	for _, device := range granted {
		ids = append(ids, device.ID)
		amd = amd || slices.Contains(device.Nodes, rocmNode)
	}
	if amd {
		return map[string]string{rocmVisible: strings.Join(ids, ",")}
	}
	return map[string]string{cudaVisible: strings.Join(ids, ","), rocmVisible: ""}
}

// nodesOf are the nodes of several devices, each once.
func nodesOf(devices []Device) []string {
	var nodes []string
	for _, device := range devices {
		nodes = append(nodes, device.Nodes...)
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

// devicePaths are what the libraries of drivers read beside the system's files: the topology of the machine and the list of
// OpenCL's drivers. Only commands with a device see them.
var devicePaths = []string{"/etc/OpenCL", "/sys/bus/pci", "/sys/class/drm", "/sys/class/kfd", "/sys/dev/char", "/sys/devices"}

// existing are those of the paths that the machine has.
func existing(paths []string) []string {
	return slices.DeleteFunc(slices.Clone(paths), func(path string) bool {
		_, err := os.Stat(path)
		return err != nil
	})
}

// checkDevices refuses devices that commands could not be given.
func checkDevices(devices []Device) error {
	if len(devices) > maxDevices {
		return fmt.Errorf("%d devices: at most %d", len(devices), maxDevices)
	}
	ids := map[string]bool{}
	for _, device := range devices {
		switch {
		case !deviceID.MatchString(device.ID):
			return fmt.Errorf("device %q: its name is an index or a UUID, of letters, digits and \"-\"", device.ID)
		case ids[device.ID]:
			return fmt.Errorf("device %s is named twice", device.ID)
		case len(device.Nodes) == 0:
			return fmt.Errorf("device %s has no device node", device.ID)
		}
		ids[device.ID] = true
		for _, node := range device.Nodes {
			if filepath.Clean(node) != node || !strings.HasPrefix(node, "/dev/") {
				return fmt.Errorf("device %s: node %q: must be a clean path below /dev", device.ID, node)
			}
			if !isNode(node) {
				return fmt.Errorf("device %s: %s is no device node of this machine", device.ID, node)
			}
		}
	}
	return nil
}

var deviceID = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)

func isNode(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// FindDevices returns the devices of a choice: DevicesAuto, DevicesOff or a comma-separated list. An element of the list is the
// index or UUID of an NVIDIA device, or "name=node+node…" for any other, e.g. "0=/dev/kfd+/dev/dri/renderD128". With DevicesAuto a
// driver that does not answer is logged and means none; a listed device that is not there is an error.
func FindDevices(ctx context.Context, choice string, log *slog.Logger) ([]Device, error) {
	if choice == DevicesOff {
		return nil, nil
	}
	listed, err := nvidiaDevices(ctx)
	if choice == DevicesAuto || choice == "" {
		if err != nil {
			log.Warn("GPUs are not used: their driver does not answer", "error", err)
			return nil, nil
		}
		if err := checkDevices(listed); err != nil {
			log.Warn("GPUs are not used", "error", err)
			return nil, nil
		}
		return listed, nil
	}
	chosen, chooseErr := chosenDevices(choice, listed)
	if chooseErr == nil {
		chooseErr = checkDevices(chosen)
	}
	if chooseErr != nil {
		return nil, errors.Join(chooseErr, err)
	}
	return chosen, nil
}

// chosenDevices reads a list of devices. listed are those that the driver knows, in the order of its indices.
func chosenDevices(choice string, listed []Device) ([]Device, error) {
	var chosen []Device
	for _, element := range strings.Split(choice, ",") {
		name, nodes, explicit := strings.Cut(strings.TrimSpace(element), "=")
		if explicit {
			chosen = append(chosen, Device{ID: name, Nodes: strings.Split(nodes, "+")})
			continue
		}
		index, err := strconv.Atoi(name)
		at := slices.IndexFunc(listed, func(d Device) bool { return d.ID == name })
		switch {
		case at >= 0:
			chosen = append(chosen, listed[at])
		case err == nil && index >= 0 && index < len(listed):
			chosen = append(chosen, listed[index])
		case err == nil && index >= 0 && index < maxDevices && len(listed) == 0:
			chosen = append(chosen, Device{ID: name, Nodes: nvidiaNodes(index)})
		default:
			return nil, fmt.Errorf("GPU %q: there are %d; allowed are auto, off, and a list of indices, UUIDs and name=node+node",
				name, len(listed))
		}
	}
	return chosen, nil
}

// nvidiaShared are the nodes that every NVIDIA device needs beside its own, where the machine has them. The one for tools that
// watch other processes' memory is not among them.
var nvidiaShared = []string{"/dev/nvidia-uvm", "/dev/nvidiactl"}

func nvidiaNodes(minor int) []string {
	return append([]string{fmt.Sprintf("/dev/nvidia%d", minor)}, slices.DeleteFunc(slices.Clone(nvidiaShared),
		func(node string) bool { return !isNode(node) })...)
}

// nvidiaDevices asks NVIDIA's driver; without its program there are none.
func nvidiaDevices(ctx context.Context) ([]Device, error) {
	program, err := exec.LookPath("nvidia-smi")
	if errors.Is(err, exec.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out, err := output(ctx, program, "--query-gpu=index,uuid,memory.total,name", "--format=csv,noheader,nounits")
	if err != nil {
		return nil, err
	}
	devices, err := parseNvidia(out)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", program, err)
	}
	minors := nvidiaMinors("/proc/driver/nvidia/gpus")
	for i := range devices {
		minor, known := minors[devices[i].ID]
		if !known {
			minor = i
		}
		devices[i].Nodes = nvidiaNodes(minor)
	}
	return devices, nil
}

// parseNvidia reads lines like "0, GPU-5c1c…, 81559, NVIDIA H100 80GB HBM3": index, UUID, memory in MiB, name. The indices are
// those of the lines. A memory that is no number is unknown.
func parseNvidia(text string) ([]Device, error) {
	var devices []Device
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		fields := strings.SplitN(line, ",", 4)
		if len(fields) < 4 || len(devices) == maxDevices {
			return nil, fmt.Errorf("line %q: index, UUID, memory and name of one of at most %d devices expected",
				strings.TrimSpace(line), maxDevices)
		}
		device := Device{ID: strings.TrimSpace(fields[1]), Name: strings.TrimSpace(fields[3])}
		if index, err := strconv.Atoi(strings.TrimSpace(fields[0])); err != nil || index != len(devices) ||
			!deviceID.MatchString(device.ID) {
			return nil, fmt.Errorf("line %q: index %d and a UUID expected", strings.TrimSpace(line), len(devices))
		}
		if mib, err := strconv.ParseInt(strings.TrimSpace(fields[2]), 10, 32); err == nil && mib > 0 {
			device.MemoryBytes = mib << 20
		}
		devices = append(devices, device)
	}
	return devices, nil
}

// nvidiaMinors are the numbers in the names of NVIDIA's device nodes, by UUID. They need not be the indices.
func nvidiaMinors(dir string) map[string]int {
	minors := map[string]int{}
	files, _ := filepath.Glob(filepath.Join(dir, "*", "information")) // the pattern is sound
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		fields := map[string]string{}
		for line := range strings.Lines(string(text)) {
			key, value, _ := strings.Cut(line, ":")
			fields[strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
		if minor, err := strconv.Atoi(fields["Device Minor"]); err == nil && minor >= 0 {
			minors[fields["GPU UUID"]] = minor
		}
	}
	return minors
}
