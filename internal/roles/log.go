package roles

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/molfabric/molfabric/internal/config"
)

// NewLog makes the process' structured log, on standard error or appended to the configured file.
func NewLog(cfg config.Config) (*slog.Logger, error) {
	out := os.Stderr
	if cfg.LogFile != "" {
		file, err := os.OpenFile(cfg.LogFile, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o640)
		if err != nil {
			return nil, fmt.Errorf("log-file: %w", err)
		}
		out = file // open for as long as the process lives
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(cfg.LogLevel)); err != nil {
		return nil, fmt.Errorf("log-level: %q; allowed are debug, info, warn and error", cfg.LogLevel)
	}
	options := &slog.HandlerOptions{Level: level}
	if cfg.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(out, options)), nil
	}
	return slog.New(slog.NewTextHandler(out, options)), nil
}

// QuietLog is NewLog for a command whose output is for a person to read: unless the configuration names a file, the log goes
// to one in the home directory.
func QuietLog(cfg *config.Config) (*slog.Logger, error) {
	if cfg.LogFile == "" {
		if err := os.MkdirAll(cfg.Home, 0o755); err != nil {
			return nil, fmt.Errorf("make the home directory: %w", err)
		}
		cfg.LogFile = filepath.Join(cfg.Home, "molfabric.log")
	}
	return NewLog(*cfg)
}
