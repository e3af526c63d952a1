package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/molfabric/molfabric/internal/client"
)

func environment(vars map[string]string) func(string) string {
	return func(name string) string { return vars[name] }
}

func TestSettingsPath(t *testing.T) {
	t.Parallel()
	tests := []struct {
		vars map[string]string
		want string
	}{
		{map[string]string{"MOLFABRIC_CONFIG": "c.json", "XDG_CONFIG_HOME": "/x", "HOME": "/h"}, "c.json"},
		{map[string]string{"XDG_CONFIG_HOME": "/x", "HOME": "/h"}, "/x/molfabric/config.json"},
		{map[string]string{"XDG_CONFIG_HOME": "relative", "HOME": "/h"}, "/h/.config/molfabric/config.json"},
		{map[string]string{"HOME": "/h"}, "/h/.config/molfabric/config.json"},
		{nil, ""},
	}
	for _, test := range tests {
		if got, err := settingsPath(environment(test.vars)); got != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%v: got %q, %v; want %q", test.vars, got, err, test.want)
		}
	}
}

func TestSettingsArePrivate(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new", "config.json")
	want := settings{Server: "http://s", Email: "a@b.c", APIKey: "svc_live_x", KeyID: "key_1", Session: "t"}
	if got, err := loadSettings(path); err != nil || got != (settings{}) {
		t.Fatalf("missing: got %+v, %v; want nothing", got, err)
	}
	for range 2 { // a new file, and one in place of another
		if err := want.save(path); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := loadSettings(path); err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	for name, mode := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: got mode %v, %v; want %v", name, info.Mode().Perm(), err, mode)
		}
	}
	if files, err := os.ReadDir(filepath.Dir(path)); err != nil || len(files) != 1 {
		t.Errorf("left behind: %v, %v", files, err)
	}
}

func TestCredentialsStayWithTheirServer(t *testing.T) {
	t.Parallel()
	kept := settings{Server: "https://a.example", APIKey: "kept", Session: "session"}
	tests := []struct {
		name  string
		flags connection
		vars  map[string]string
		want  client.Options
	}{
		{"settings", connection{}, nil, client.Options{Server: "https://a.example", APIKey: "kept", Session: "session"}},
		{"same server", connection{server: "https://a.example/"}, nil,
			client.Options{Server: "https://a.example/", APIKey: "kept", Session: "session"}},
		{"other server by flag", connection{server: "https://b.example"}, nil, client.Options{Server: "https://b.example"}},
		{"other server by environment", connection{}, map[string]string{"MOLFABRIC_SERVER": "https://b.example"},
			client.Options{Server: "https://b.example"}},
		{"other key", connection{}, map[string]string{"MOLFABRIC_API_KEY": "env"},
			client.Options{Server: "https://a.example", APIKey: "env", Session: "session"}},
		{"flag before environment", connection{server: "https://c.example", key: "flag"},
			map[string]string{"MOLFABRIC_SERVER": "https://b.example", "MOLFABRIC_API_KEY": "env"},
			client.Options{Server: "https://c.example", APIKey: "flag"}},
	}
	for _, test := range tests {
		if got := test.flags.choose(kept, environment(test.vars)); got != test.want {
			t.Errorf("%s: got %+v, want %+v", test.name, got, test.want)
		}
	}
	if got, want := (&connection{}).choose(settings{}, environment(nil)), (client.Options{Server: defaultServer}); got != want {
		t.Errorf("nothing kept: got %+v, want %+v", got, want)
	}
}
