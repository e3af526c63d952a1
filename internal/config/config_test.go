package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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

func TestPreviews(t *testing.T) {
	t.Setenv("MOLFABRIC_HOME", t.TempDir())
	if cfg, err := Load(nil); err != nil || cfg.Previews != 1 {
		t.Errorf("by default: %d, %v; want 1", cfg.Previews, err)
	}
	t.Setenv("MOLFABRIC_PREVIEWS", "0")
	if cfg, err := Load(nil); err != nil || cfg.Previews != 0 {
		t.Errorf("as configured: %d, %v; want 0", cfg.Previews, err)
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
		"less than none": "previews: -1\n",
		"many renderers": "previews: 17\n",
		"no host":        "structures: https:///pdb\n",
		"store access":   "storeAccess: both\n",
		"no such quota":  "quotaBytes: -1\n",
		"no sender":      "smtp:\n  url: smtp://127.0.0.1\n",
		"a place":        "ww3: builds\n",
		"a way up":       "ww3: /opt/../ww3\n",
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

func TestDirector(t *testing.T) {
	t.Setenv("MOLFABRIC_HOME", t.TempDir())
	t.Setenv("MOLFABRIC_PYTHON", "")
	if cfg, err := Load(nil); err != nil || cfg.Director != (Director{Timeout: MaxDirectorTimeout}) {
		t.Errorf("by default: %+v, %v; want none, and a timeout of %s", cfg.Director, err, MaxDirectorTimeout)
	}
	for _, c := range []struct{ url, model, key, timeout, want string }{
		{"https://models.example.org/v1", "llama", "sk-1", "3s", ""},
		{"http://127.0.0.1:8000/v1", "llama", "sk-1", "10s", ""},
		{"http://[::1]:8000/v1", "llama", "sk-1", "10s", ""},
		{"http://models.internal:8000/v1", "llama", "", "10s", ""},
		{"http://models.internal:8000/v1", "llama", "sk-1", "10s", "in the clear"},
		{"https://models.example.org/v1", "", "", "10s", "MOLFABRIC_DIRECTOR_MODEL is not"},
		{"", "llama", "", "10s", "MOLFABRIC_DIRECTOR_URL is not"},
		{"", "", "sk-1", "10s", "MOLFABRIC_DIRECTOR_URL is not"},
		{"models.example.org", "llama", "", "10s", "base address"},
		{"https://user:hush@models.example.org/v1", "llama", "", "10s", "base address"},
		{"https://models.example.org/v1?key=hush", "llama", "", "10s", "base address"},
		{"https://models.example.org/v1", "llama", "", "0s", "up to 10s"},
		{"https://models.example.org/v1", "llama", "", "1m", "up to 10s"},
		{"https://models.example.org/v1", "llama", "", "soon", "environment"},
	} {
		t.Setenv("MOLFABRIC_DIRECTOR_URL", c.url)
		t.Setenv("MOLFABRIC_DIRECTOR_MODEL", c.model)
		t.Setenv("MOLFABRIC_DIRECTOR_KEY", c.key)
		t.Setenv("MOLFABRIC_DIRECTOR_TIMEOUT", c.timeout)
		cfg, err := Load(nil)
		switch {
		case c.want == "" && (err != nil || cfg.Director.URL != c.url || cfg.Director.Timeout > 10*time.Second):
			t.Errorf("%+v: got %+v, %v", c, cfg.Director, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hush")):
			t.Errorf("%+v: got %v, want %q and no secret in it", c, err, c.want)
		}
	}
}
