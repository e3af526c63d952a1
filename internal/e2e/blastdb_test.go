package e2e

import (
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines/enginestest"
)

// blastdb runs `molfabric blastdb` as the operator of a home and expects its exit code. It returns what was printed.
func (s *system) blastdb(code int, args ...string) string {
	s.t.Helper()
	program, err := binary()
	if err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.CommandContext(s.t.Context(), program, append([]string{"blastdb"}, append(args, "--home", s.home)...)...)
	cmd.Env = s.env
	output, err := cmd.CombinedOutput()
	if got := exitCode(err); got != code {
		s.t.Fatalf("molfabric blastdb %s ended with %d, want %d:\n%s", strings.Join(args, " "), got, code, output)
	}
	return string(output)
}

// databases is the list that users read.
func (s *system) databases(key string) string {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.url+"/api/v1/molecular/blast/databases", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+key)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		s.t.Fatalf("got %d %s, %v", response.StatusCode, text, err)
	}
	return string(text)
}

func TestDatabasesWithTheCommandLine(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("makeblastdb"); err != nil {
		enginestest.Skip(t, "makeblastdb is not installed; install it with: apt-get install ncbi-blast+")
	}
	fasta := "../sequences/testdata/proteins.fasta"
	add := []string{"add", fasta, "--name", "globins", "--version", "1", "--date", "2026-01-28"}
	s := start(t)
	if printed := s.blastdb(0, add...); !strings.Contains(printed, "Added globins 1: 6 sequences, 657 residues, released on "+
		"2026-01-28, type prot.") {
		t.Errorf("add printed %s", printed)
	}
	key := s.key()
	if list := s.databases(key); !strings.Contains(list, `"name":"globins"`) {
		t.Errorf("the list is %s", list)
	}
	s.down() // without a running system, its stores are started for the command
	if printed := s.blastdb(0, add...); !strings.Contains(printed, "Nothing to do, it is there: globins 1:") {
		t.Errorf("a second add printed %s", printed)
	}
	if printed := s.blastdb(1, "add", "../sequences/testdata/nucleotides.fasta", "--name", "globins", "--version",
		"1"); !strings.Contains(printed, "a name and version never change") {
		t.Errorf("another content: %s", printed)
	}
	s.up()
	s.overwrite("globins.psq")
	if printed := s.blastdb(1, "verify"); !strings.Contains(printed, "globins 1: DAMAGED: globins.psq has") {
		t.Errorf("verify printed %s", printed)
	}
	if printed := s.blastdb(0, add...); !strings.Contains(printed, "Repaired globins 1:") {
		t.Errorf("the repair printed %s", printed)
	}
	if printed := s.blastdb(0, "verify", "globins", "1"); !strings.Contains(printed, "globins 1: ok, 7 files") {
		t.Errorf("verify printed %s", printed)
	}
	s.blastdb(0, "retire", "globins", "1")
	if list := s.databases(key); !strings.Contains(list, `"databases":[]`) {
		t.Errorf("the list of users is %s", list)
	}
	if printed := s.blastdb(0, "list", "--all"); !strings.Contains(printed, "retired") {
		t.Errorf("the list is %s", printed)
	}
}

// overwrite spoils a file of the object store behind its back.
func (s *system) overwrite(name string) {
	s.t.Helper()
	spoilt := 0
	err := filepath.WalkDir(filepath.Join(s.home, "objects"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() != name || !entry.Type().IsRegular() {
			return err
		}
		spoilt++
		return os.WriteFile(path, []byte("spoilt"), 0o600)
	})
	if err != nil || spoilt != 1 {
		s.t.Fatalf("%d files %s spoilt, %v", spoilt, name, err)
	}
}
