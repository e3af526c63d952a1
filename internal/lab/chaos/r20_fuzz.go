package chaos

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/id"
)

const (
	// fuzzTime and shortFuzzTime are how long the fuzzer runs.
	fuzzTime, shortFuzzTime = 30 * time.Minute, time.Minute
	// fuzzGrace is what it may take to come to its end.
	fuzzGrace = 5 * time.Minute
	// saidBytes is what an error shows of what the fuzzer has said.
	saidBytes = 4 << 10
	// workEvery is how often an honest account submits a job meanwhile.
	workEvery = time.Second
)

//go:embed r20_schemathesis.toml
var fuzzConfig []byte

// fuzzedAndBroken is R20: it lets a fuzzer attack a service that is being broken.
func fuzzedAndBroken(ctx context.Context, w *World, rng *rand.Rand) error {
	fuzzer := filepath.Join(os.Getenv("MOLFABRIC_CONTRACT"), "bin", "schemathesis")
	if _, err := os.Stat(fuzzer); err != nil {
		return Skip("there is no fuzzer: set MOLFABRIC_CONTRACT to what `deploy/setup.sh --tests` installs in .molfabric/contract")
	}
	if err := w.Start(ctx, 3, 1, 2); err != nil {
		return err
	}
	door, err := w.openEntrance()
	if err != nil {
		return err
	}
	defer door.close()
	victim, err := w.victim(ctx)
	if err != nil {
		return err
	}
	if err := w.besiege(ctx, rng, door, func() error { return victim.fuzz(ctx, fuzzer, door, rng) }); err != nil {
		return err
	}
	return errors.Join(door.verdict(ctx), victim.cancelAll(ctx))
}

// besiege runs the attack while everything breaks and an honest account works; every job that this one was told to have must end
// well.
func (w *World) besiege(ctx context.Context, rng *rand.Rand, door *entrance, attack func() error) error {
	honest, err := w.Account(ctx, plentyPence)
	if err != nil {
		return err
	}
	chance := rand.New(rand.NewPCG(rng.Uint64(), rng.Uint64())) //nolint:gosec // G404: a choice of moments, not a secret
	during, stop := context.WithCancel(ctx)
	defer stop()
	var beside sync.WaitGroup
	var wrecked, worked error
	var jobs []string
	beside.Go(func() { wrecked = w.wreck(during, chance, door) })
	beside.Go(func() { jobs, worked = honest.keepWorking(during) })
	attacked := attack()
	stop()
	beside.Wait()
	failures := []error{attacked, wrecked, worked}
	for _, jobID := range jobs {
		failures = append(failures, w.AwaitCompleted(ctx, jobID))
	}
	w.Figure("honest_jobs_count", float64(len(jobs)))
	return someOf(failures)
}

// keepWorking submits small jobs until the context ends, each until it is accepted, and returns their ids.
func (a *Account) keepWorking(ctx context.Context) (jobs []string, err error) {
	for pause(ctx, workEvery); ctx.Err() == nil; pause(ctx, workEvery) {
		key := id.New("key_")
		err := a.world.Eventually(context.WithoutCancel(ctx), "a submission is accepted", patience,
			func(ctx context.Context) (bool, error) {
				jobID, err := a.Submit(ctx, Probe{Name: "honest", Tasks: 3, Seconds: 0.1, OutputBytes: 100}, key)
				if err != nil {
					return false, nil //nolint:nilerr // the API may be what is broken
				}
				jobs = append(jobs, jobID)
				return true, nil
			})
		if err != nil {
			return jobs, err
		}
	}
	return jobs, nil
}

// victim is the account that the fuzzer has the credentials of.
type victim struct {
	*Account
	dir string // where the fuzzer works
	env []string
}

// victim opens an account with some history and writes what the fuzzer should know of it.
func (w *World) victim(ctx context.Context) (*victim, error) {
	owner, err := w.tenant(ctx, "fuzz")
	if err != nil {
		return nil, err
	}
	if err := owner.probe(ctx); err != nil {
		return nil, err
	}
	for _, one := range []func(context.Context) error{owner.keepFiles, owner.keepProjects} {
		if err := one(ctx); err != nil {
			return nil, err
		}
	}
	v := &victim{Account: owner.Account, dir: filepath.Join(w.Home(), "fuzz"),
		env: []string{"KEY=" + owner.byKey.key, "SESSION=" + owner.byBrowser.session}}
	if err := os.MkdirAll(v.dir, 0o700); err != nil {
		return nil, err
	}
	files := map[string][]byte{"schemathesis.toml": fuzzConfig}
	for name, kind := range map[string]string{"jobs": aJob, "files": aFile, "uploads": anUpload} {
		files[name] = []byte(`"` + strings.Join(owner.owned[kind], "\"\n\"") + "\"\n")
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(v.dir, name), content, 0o600); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// fuzz lets Schemathesis read the document and attack every operation but sign-out, which would end the session that the others
// need, with all of its checks.
func (v *victim) fuzz(ctx context.Context, fuzzer string, door *entrance, rng *rand.Rand) error {
	duration := fuzzTime
	if v.world.Short {
		duration = shortFuzzTime
	}
	ctx, cancel := context.WithTimeout(ctx, duration+v.world.Bound(fuzzGrace))
	defer cancel()
	fuzz := exec.CommandContext(ctx, fuzzer, "run", door.url+"/api/v1/openapi.json", "--checks", "all", "--max-time",
		strconv.Itoa(int(duration.Seconds())), "--seed", strconv.FormatUint(uint64(rng.Uint32()), 10), "--no-color", "--warnings",
		"off", "--exclude-path", "/v1/auth/sign-out")
	fuzz.Dir, fuzz.Env = v.dir, append(os.Environ(), v.env...)
	var said bytes.Buffer
	fuzz.Stdout, fuzz.Stderr = &said, &said
	err := fuzz.Run()
	log := filepath.Join(v.world.Home(), "logs", "fuzzer.log")
	if writeErr := os.WriteFile(log, said.Bytes(), 0o600); writeErr != nil {
		return errors.Join(err, writeErr)
	}
	if _, summary, found := strings.Cut(said.String(), "== SUMMARY =="); found {
		v.world.Logf("%s", summary)
	}
	if err != nil {
		_, failures, _ := strings.Cut(said.String(), "== FAILURES ==")
		return fmt.Errorf("the fuzzer: %w; it said: %s", err, failures[:min(len(failures), saidBytes)])
	}
	return nil
}

// cancelAll ends what the fuzzer has submitted for engines that nobody offers here. It signs in for it: the fuzzer may revoke every
// key of the account, and does.
func (v *victim) cancelAll(ctx context.Context) error {
	owner, err := client.New(client.Options{Server: v.world.APIs()[0].URL})
	if err != nil {
		return err
	}
	defer owner.Close()
	err = v.world.Eventually(ctx, "the fuzzer's account is signed in to", v.world.Bound(patience),
		func(ctx context.Context) (bool, error) {
			_, err := owner.SignIn(ctx, v.Email, password)
			return err == nil, nil // the fuzzer has used up what an address may try in a minute
		})
	if err != nil {
		return err
	}
	err = v.world.Eventually(ctx, "the fuzzer's jobs are cancelled", v.world.Bound(patience),
		func(ctx context.Context) (bool, error) {
			list, err := owner.Jobs(ctx, client.JobFilter{Page: client.Page{Limit: 100},
				Status: []string{"SUBMITTED", "QUEUED", "RUNNING"}})
			if err != nil {
				return false, err
			}
			for _, open := range list.Body.Jobs {
				_, _ = owner.Cancel(ctx, open.JobID, "the fuzzer is done") // it may have ended meanwhile
			}
			return len(list.Body.Jobs) == 0, nil
		})
	if err != nil {
		return err
	}
	jobs, _, err := jobsOf(ctx, v.world.db, v.ID)
	v.world.Figure("fuzzed_account_jobs_count", float64(jobs))
	return err
}
