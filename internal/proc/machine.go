package proc

import (
	"os"
	"runtime"
	"strings"
)

// Machine names the processor that children run on, for reports: the kernel's name of its model, or the architecture.
func Machine() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	_, rest, found := strings.Cut(string(text), "model name")
	if !found {
		return runtime.GOARCH
	}
	line, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(strings.TrimLeft(line, "\t :"))
}
