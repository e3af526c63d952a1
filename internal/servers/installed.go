package servers

import (
	"context"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// Program is a server program as it is installed, or why it cannot be used.
type Program struct {
	Name    string
	Version string
	Err     error // *MissingError
}

// Installed looks for the programs that StartPostgres and StartRedis would use.
func Installed(ctx context.Context) []Program {
	return []Program{installedPostgres(ctx), installedRedis(ctx)}
}

func installedPostgres(ctx context.Context) Program {
	p := Program{Name: "postgres"}
	found, err := postgresInstallations(ctx, os.Getenv("PATH"), postgresPlaces)
	if err != nil {
		p.Err = err
		return p
	}
	p.Version = strconv.Itoa(found[0].major)
	return p
}

func installedRedis(ctx context.Context) Program {
	p := Program{Name: "redis-server"}
	path, err := exec.LookPath(p.Name)
	if err != nil {
		p.Err = &MissingError{Program: p.Name, Install: installCommand}
		return p
	}
	// It prints "Redis server v=7.0.15 sha=…".
	output, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		p.Err = err
		return p
	}
	for _, word := range strings.Fields(string(output)) {
		if version, ok := strings.CutPrefix(word, "v="); ok {
			p.Version = version
		}
	}
	return p
}
