package servers

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// Program is a server program as it is installed, or why it cannot be used.
type Program struct {
	Name    string
	Version string
	Err     error // may be a *MissingError
}

// StoreName is the program of the S3 server, which storeBuild makes together with molfabric.
const (
	StoreName  = "molfabric-store"
	storeBuild = "make build"
)

// Installed looks for the programs that StartPostgres, StartRedis and StartS3 would use.
func Installed(ctx context.Context) []Program {
	return []Program{installedPostgres(ctx), installedRedis(ctx), installedStore(ctx)}
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
	if p.Version, p.Err = redisVersion(ctx, path); p.Err == nil {
		p.Err = checkRedisVersion(p.Version)
	}
	return p
}

func installedStore(ctx context.Context) Program {
	p := Program{Name: StoreName}
	path, err := storeProgram("")
	if err != nil {
		p.Err = err
		return p
	}
	output, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		p.Err = fmt.Errorf("ask %s for its version: %w", path, err)
		return p
	}
	p.Version = strings.TrimSpace(strings.TrimPrefix(string(output), StoreName))
	return p
}

// CheckStore tells whether StartS3 would find its program. Errors: *MissingError.
func CheckStore() error {
	_, err := storeProgram("")
	return err
}

// StoreOf is the S3 server's program that lies beside a molfabric.
func StoreOf(molfabric string) string { return filepath.Join(filepath.Dir(molfabric), StoreName) }

// storeProgram finds the S3 server's program: the given one, or, for "", what lies beside this program, or else on the PATH. The
// path is absolute, since servers are started elsewhere.
func storeProgram(given string) (string, error) {
	if given != "" {
		path, err := exec.LookPath(given)
		if err != nil {
			return "", &MissingError{Program: given, Install: storeBuild}
		}
		return filepath.Abs(path)
	}
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find %s: %w", StoreName, err)
	}
	return storeBeside(filepath.Dir(self))
}

// storeBeside is storeProgram for a program in dir. A file there that cannot be run is an error: one on the PATH might be of
// another version.
func storeBeside(dir string) (string, error) {
	path, err := exec.LookPath(filepath.Join(dir, StoreName))
	if errors.Is(err, fs.ErrNotExist) {
		path, err = exec.LookPath(StoreName)
		if err != nil {
			return "", &MissingError{Program: StoreName, Install: storeBuild,
				Places: "beside this program, in " + dir + ", and on the PATH"}
		}
	}
	if err != nil {
		return "", fmt.Errorf("find %s: %w", StoreName, err)
	}
	return path, nil
}

// redisVersion asks a redis-server program for its version; "" when its answer names none.
func redisVersion(ctx context.Context, program string) (string, error) {
	output, err := exec.CommandContext(ctx, program, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("ask %s for its version: %w", program, err)
	}
	for word := range strings.FieldsSeq(string(output)) { // "Redis server v=7.0.15 sha=…"
		if version, ok := strings.CutPrefix(word, "v="); ok {
			return version, nil
		}
	}
	return "", nil
}

// minRedis is the first major version whose users may have rights of their own for some keys.
const minRedis = 7

// checkRedisVersion refuses a server that does not understand the rules of our users. One whose version cannot be read may
// try.
func checkRedisVersion(version string) error {
	major, _, _ := strings.Cut(version, ".")
	if n, err := strconv.Atoi(major); err == nil && n < minRedis {
		return tooOld(version)
	}
	return nil
}

func tooOld(version string) error {
	return fmt.Errorf("redis-server %s is too old: the users that molfabric makes in it need Redis %d.0 or newer. Install a "+
		"newer one, "+
		"or give the address of one in REDIS_URL", version, minRedis)
}
