package arch

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const storeProgram = module + "/internal/object/molfabric-store"

// TestProductHasNothingOfTheServer: every worker runs the product's program, beside inputs of strangers. The embedded S3 server
// brings 120 packages of its own, clients of message brokers, of LDAP and of a vault among them, which a worker has no use for and
// whose weaknesses it would share. So the server is a program beside it, which only `molfabric up` starts.
func TestProductHasNothingOfTheServer(t *testing.T) {
	t.Parallel()
	if found := ofTheServer(t, module); len(found) > 0 {
		t.Errorf("the program molfabric has these packages of the S3 server: %s; "+
			"`go list -deps -f '{{.ImportPath}} {{.Imports}}' .` says who imports them", strings.Join(found, ", "))
	}
	if found := ofTheServer(t, storeProgram); len(found) == 0 {
		t.Error("the program molfabric-store has no package of the S3 server, so this test would see none anywhere")
	}
}

// TestStoreHasNothingOfTheFabric: the S3 server's program serves files and knows no database, no queue and no engine.
func TestStoreHasNothingOfTheFabric(t *testing.T) {
	t.Parallel()
	want := []string{storeProgram, module + "/internal/object/order", module + "/internal/object/versity"}
	got := slices.DeleteFunc(dependencies(t, storeProgram), func(name string) bool { return !below(name, module) })
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the program molfabric-store has the packages %q, want %q", got, want)
	}
}

func ofTheServer(t *testing.T, program string) []string {
	t.Helper()
	server := []string{"github.com/versity", module + "/internal/object/versity"}
	return slices.DeleteFunc(dependencies(t, program), func(name string) bool { return !belowAny(name, server) })
}

// dependencies are the packages that a program is made of.
func dependencies(t *testing.T, program string) []string {
	t.Helper()
	output, err := exec.CommandContext(t.Context(), "go", "list", "-deps", program).Output()
	if err != nil {
		t.Fatalf("list what %s is made of: %v", program, err)
	}
	return strings.Fields(string(output))
}
