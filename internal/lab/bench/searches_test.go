package bench

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestProteins(t *testing.T) {
	t.Parallel()
	made, err := new(searching).proteins("")
	if err != nil {
		t.Fatal(err)
	}
	again := madeProteins()
	if n := bytes.Count(made, []byte(">")); n != madeFamilies*madeMembers || !bytes.Equal(made, again) {
		t.Errorf("%d proteins were made, want the same %d every time", n, madeFamilies*madeMembers)
	}
	for name, text := range map[string]string{"text.faa": "no proteins\n", "empty.faa": "", "plain.faa.gz": ">a\nMKV\n"} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := new(searching).proteins(path); err == nil || !strings.Contains(err.Error(), "--proteins") {
			t.Errorf("%s: got %v, want a refusal that names the flag", name, err)
		}
	}
	if _, err := new(searching).proteins(filepath.Join(t.TempDir(), "absent.faa")); err == nil {
		t.Error("an absent file is read")
	}
}
