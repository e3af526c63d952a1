// Command molfabric-store is the S3 server of a single machine, which `molfabric up` starts and ends. It is a program of its own so
// that molfabric, which every worker runs, has nothing of what the server is made of: message brokers, LDAP, a vault client.
package main

import (
	"fmt"
	"os"

	"github.com/molfabric/molfabric/internal/object/versity"
)

// version is set by the linker (see the Makefile).
var version = "dev"

const usage = `molfabric-store is the S3 server that "molfabric up" starts: it gets what to serve in its environment, and there is
nothing to run by hand. It must lie beside molfabric, or on the PATH.

  molfabric-store --version   prints its version and that of the server in it`

func main() {
	os.Exit(run(os.Args[1:]))
}

// run returns the exit status.
func run(arguments []string) int {
	if len(arguments) == 1 && arguments[0] == "--version" {
		fmt.Printf("molfabric-store %s (%s)\n", version, versity.Version())
		return 0
	}
	if len(arguments) == 1 && arguments[0] == "--help" {
		fmt.Println(usage)
		return 0
	}
	if len(arguments) > 0 {
		fmt.Fprintln(os.Stderr, usage)
		return 2
	}
	ordered, err := versity.Serve()
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "molfabric-store:", err)
		return 1
	case !ordered:
		fmt.Fprintln(os.Stderr, usage)
		return 2
	}
	return 0
}
