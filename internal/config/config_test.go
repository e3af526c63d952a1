package config

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/pflag"
)

func TestLaterSourcesWin(t *testing.T) {
	home := t.TempDir()
	file := "listen: 127.0.0.1:1\nlogLevel: warn\nslots: 3\ns3:\n  bucket: from-file\n"
	if err := os.WriteFile(filepath.Join(home, FileName), []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("MOLFABRIC_HOME", home)
	t.Setenv("MOLFABRIC_PYTHON", "") // `make test` sets it
	t.Setenv("MOLFABRIC_STRUCTURES", "")
	t.Setenv("MOLFABRIC_COMPONENTS", "components.jsonl.gz")
	t.Setenv("MOLFABRIC_LISTEN", "127.0.0.1:2")
	t.Setenv("MOLFABRIC_LOG_LEVEL", "error")
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	Flags(flags)
	if err := flags.Parse([]string{"--listen", "127.0.0.1:3"}); err != nil {
		t.Fatal(err)
	}
	cfg, err := Load(flags)
	if err != nil {
		t.Fatal(err)
	}
	for _, check := range []struct{ name, got, want string }{
		{"flag over environment", cfg.Listen, "127.0.0.1:3"},
		{"environment over file", cfg.LogLevel, "error"},
		{"file over default", cfg.S3.Bucket, "from-file"},
		{"default", cfg.S3.Region, "us-east-1"},
		{"server of structures", cfg.Structures, "https://files.rcsb.org"},
		{"components", cfg.Components, "components.jsonl.gz"},
		{"derived", cfg.Python, filepath.Join(home, "python", "bin", "python")},
	} {
		if check.got != check.want {
			t.Errorf("%s: got %q, want %q", check.name, check.got, check.want)
		}
	}
	if cfg.Slots != 3 {
		t.Errorf("slots: got %d, want 3", cfg.Slots)
	}
}

func TestDevices(t *testing.T) {
	t.Setenv("MOLFABRIC_HOME", t.TempDir())
	if cfg, err := Load(nil); err != nil || cfg.GPUs != "auto" || cfg.GPUTasksEach != 1 {
		t.Errorf("by default: %q shared by %d, %v; want auto and 1", cfg.GPUs, cfg.GPUTasksEach, err)
	}
	t.Setenv("MOLFABRIC_GPUS", "0,1")
	t.Setenv("MOLFABRIC_GPU_TASKS_EACH", "4")
	if cfg, err := Load(nil); err != nil || cfg.GPUs != "0,1" || cfg.GPUTasksEach != 4 {
		t.Errorf("as configured: %q shared by %d, %v; want 0,1 and 4", cfg.GPUs, cfg.GPUTasksEach, err)
	}
}

func TestSourcesOfStructures(t *testing.T) {
	for _, source := range []string{"off", "/srv/pdb", "mirror", "http://mirror.example.org/pub/pdb", "https://files.rcsb.org"} {
		t.Setenv("MOLFABRIC_HOME", t.TempDir())
		t.Setenv("MOLFABRIC_STRUCTURES", source)
		if cfg, err := Load(nil); err != nil || cfg.Structures != source {
			t.Errorf("%s: got %q, %v", source, cfg.Structures, err)
		}
	}
}

func TestBadConfigurationIsRefused(t *testing.T) {
	for name, file := range map[string]string{
		"unknown key":    "lisen: 127.0.0.1:1\n",
		"no slots":       "slots: 0\n",
		"unknown format": "logFormat: xml\n",
		"half a store":   "s3:\n  endpoint: http://127.0.0.1:9\n",
		"sandbox":        "sandbox: none\n",
		"no image":       "sandbox: container\n",
		"idle image":     "image: sha256:00\n",
		"foreign scheme": "structures: ftp://files.example.org\n",
		"no GPU tasks":   "gpuTasksEach: 0\n",
		"too many":       "gpuTasksEach: 49\n",
		"no host":        "structures: https:///pdb\n",
		"no such quota":  "quotaBytes: -1\n",
		"no sender":      "smtp:\n  url: smtp://127.0.0.1\n",
		"a query":        "structures: https://files.example.org/?entry=\n",
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			if err := os.WriteFile(filepath.Join(home, FileName), []byte(file), 0o600); err != nil {
				t.Fatal(err)
			}
			t.Setenv("MOLFABRIC_HOME", home)
			if _, err := Load(nil); err == nil {
				t.Errorf("Load accepted %q", file)
			}
		})
	}
}
