package roles

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/molfabric/molfabric/engines/all"
	"github.com/molfabric/molfabric/engines/alphafold"
	"github.com/molfabric/molfabric/engines/esmfold"
	"github.com/molfabric/molfabric/engines/wavewatch3"
	"github.com/molfabric/molfabric/internal/config"
	"github.com/molfabric/molfabric/internal/preview"
	"github.com/molfabric/molfabric/worker"
	"github.com/molfabric/molfabric/worker/previews"
	"github.com/molfabric/molfabric/worker/sandbox"
)

// RunWorker is `molfabric worker`: it needs Redis, or a token for a user of its own there, and to reach the object store, of which
// it has no key, and never sees the database.
func RunWorker(ctx context.Context, cfg config.Config, stay Stay, version string, log *slog.Logger) error {
	passport, err := openPassport(ctx, &cfg, log)
	if err != nil {
		return err
	}
	client := passport.client
	defer client.Close()
	ctx, stop := passport.keep(ctx, log)
	defer stop()
	warnOfExposure(cfg, log)
	warnOfExcess(ctx, client, cfg, log)
	files, err := storeByKey(ctx, cfg, log)
	if err != nil {
		return err
	}
	runner, err := newRunner(ctx, cfg, log)
	if err != nil {
		return err
	}
	if removed, err := runner.SweepStale(); err != nil || removed > 0 {
		log.Info("swept what dead workers left", "control_groups", removed, "error", err)
	}
	registry, err := all.Offered(cfg.Simulators)
	if err != nil {
		return fmt.Errorf("simulators: %w", err)
	}
	offers, refusals := worker.Inspect(ctx, runner, registry)
	for _, r := range refusals {
		log.Warn("engine not offered", "engine", r.Engine, "reason", r.Reason)
	}
	if len(offers) == 0 {
		return noEngine(refusals)
	}
	w, err := worker.New(worker.Config{Queue: newQueue(client, cfg), Objects: files, Engines: registry, Runner: runner,
		Offered: offers, Slots: cfg.Slots, MemoryBytes: cfg.MemoryBytes,
		DeviceTasks: cfg.GPUTasksEach, ScratchDir: filepath.Join(cfg.Home, "scratch"),
		CacheDir: cfg.Cache, CacheBytes: cfg.CacheBytes, Previews: previewsOf(client, cfg, runner, log), Version: version,
		DrainGrace: cfg.DrainGrace, ID: passport.id, Name: cfg.WorkerName, IdleExit: stay.IdleExit, Until: stay.Until, Log: log})
	if err != nil {
		return err
	}
	if err := w.Run(ctx); err != nil {
		return err
	}
	return passport.ended(ctx)
}

// previewsOf draws previews on a worker; nil where it is to draw none.
func previewsOf(client redis.UniversalClient, cfg config.Config, runner *sandbox.Runner, log *slog.Logger) *previews.Service {
	if cfg.Previews == 0 {
		return nil
	}
	return previews.New(previews.Config{Desk: preview.NewDesk(client, cfg.RedisPrefix), Runner: runner, Keep: cfg.Previews,
		DrawLimit: cfg.PreviewLimit, Log: log})
}

// storeByKey opens the object store for workers that are to have its key; nil for those that come with permits.
func storeByKey(ctx context.Context, cfg config.Config, log *slog.Logger) (worker.Files, error) {
	if cfg.StoreAccess != config.ByKey {
		return nil, nil
	}
	return await(ctx, cfg, log, openObjects)
}

// programsOf are the interpreters of this machine by the names that engines call them by. Those that fold proteins are left out
// where set-up has not installed them: then their engines are not offered, and say so.
func programsOf(cfg config.Config) map[string]string {
	programs := map[string]string{"python": cfg.Python}
	for _, own := range folders(cfg) {
		if own.installed() {
			programs[own.name] = own.path
		}
	}
	return programs
}

// interpreter is one that an operator may choose to install.
type interpreter struct{ name, path string }

func (i interpreter) installed() bool {
	_, err := os.Stat(i.path)
	return err == nil
}

// folders are the interpreters of the engines that fold proteins, by engine.
func folders(cfg config.Config) map[string]interpreter {
	return map[string]interpreter{
		esmfold.ID:   {esmfold.Interpreter, cfg.FoldPython},
		alphafold.ID: {alphafold.Interpreter, cfg.AlphaFoldPython},
	}
}

// models tells whether SWAN is installed, which is an operator's choice: by set-up, or on the path.
func models(cfg config.Config) bool {
	_, err := os.Stat(filepath.Join(filepath.Dir(cfg.Python), "swan.exe"))
	if err != nil {
		_, err = exec.LookPath("swan.exe")
	}
	return err == nil
}

// withBuilds adds what the sandbox shows of the operator's builds of WAVEWATCH III, and how their engine's program learns where
// they lie: within an image where commands run in one. A folder that is not there is no reason not to start; its engine is not
// offered.
func withBuilds(
	cfg config.Config, log *slog.Logger, paths []string, environment map[string]string,
) (more []string, with map[string]string) {
	info, err := os.Stat(cfg.WW3)
	inImage := sandbox.Isolation(cfg.Sandbox) == sandbox.Container
	switch {
	case cfg.WW3 == "":
		return paths, environment
	case !inImage && (err != nil || !info.IsDir()):
		log.Warn("the folder with builds of WAVEWATCH III is not there", "folder", cfg.WW3)
		return paths, environment
	case !inImage:
		paths = append(paths, cfg.WW3)
	}
	if environment == nil {
		environment = map[string]string{}
	}
	environment[wavewatch3.FolderVariable] = cfg.WW3
	return paths, environment
}

// newRunner looks at the machine and makes the sandbox.
func newRunner(ctx context.Context, cfg config.Config, log *slog.Logger) (*sandbox.Runner, error) {
	devices, err := sandbox.FindDevices(ctx, cfg.GPUs, log)
	if err != nil {
		return nil, fmt.Errorf("gpus: %w", err)
	}
	paths, environment := shownAlignments(cfg, log)
	paths, environment = withBuilds(cfg, log, paths, environment)
	runner, err := sandbox.New(ctx, sandbox.Config{Isolation: sandbox.Isolation(cfg.Sandbox),
		Programs: programsOf(cfg), ReadOnlyPaths: paths, Environment: environment, Devices: devices, Image: cfg.Image,
		OwnImage: cfg.OwnImage, ImageDir: filepath.Join(cfg.Home, "images"), Log: log})
	if err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	return runner, nil
}

func noEngine(refusals []worker.Refusal) error {
	reasons := make([]string, len(refusals))
	for i, r := range refusals {
		reasons[i] = fmt.Sprintf("%s: %v", r.Engine, r.Reason)
	}
	return errors.New("this machine can run no engine; " + strings.Join(reasons, "; "))
}
