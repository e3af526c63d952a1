package roles

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/molfabric/molfabric/api/docking"
	"github.com/molfabric/molfabric/api/jobs"
	"github.com/molfabric/molfabric/api/projects"
	drawings "github.com/molfabric/molfabric/api/studio"
	"github.com/molfabric/molfabric/internal/config"
	"github.com/molfabric/molfabric/internal/director"
	"github.com/molfabric/molfabric/internal/director/model"
	"github.com/molfabric/molfabric/internal/roles/scenes"
	"github.com/molfabric/molfabric/internal/scene"
	"github.com/molfabric/molfabric/internal/structures"
	"github.com/molfabric/molfabric/internal/studio"
)

// directorModel is the language model that the studio asks, which logs what it was asked for in tokens.
type directorModel struct {
	*model.Model
	log *slog.Logger
}

// openDirector returns the configured model; nil where there is none.
func openDirector(c config.Director, log *slog.Logger) (studio.Model, error) {
	if c.URL == "" {
		return nil, nil //nolint:nilnil // the grammar needs none
	}
	opened, err := model.New(model.Config{URL: c.URL, Model: c.Model, Key: c.Key, Timeout: c.Timeout})
	if err != nil {
		return nil, fmt.Errorf("the studio's language model: %w", err)
	}
	return directorModel{opened, log}, nil
}

// studio wires Molecular Studio to what it draws.
func (c *control) studio(
	library *structures.Library, dockings *docking.Service, workspaces *projects.Service, work *jobs.Service,
) (*drawings.Service, error) {
	director, err := openDirector(c.cfg.Director, c.log)
	if err != nil {
		return nil, err
	}
	return scenes.New(drawings.Deps{DB: c.db, Objects: c.objects, Structures: library, Files: c.files, Model: director,
		Previews: scenes.Previews{Client: c.previews},
		Metrics:  c.metrics, Log: c.log, Now: time.Now}, dockings, workspaces, work), nil
}

// Understand implements studio.Model.
func (m directorModel) Understand(
	ctx context.Context, world director.Context, message string, check func([]scene.Operation) error,
) ([]scene.Operation, error) {
	answer, err := m.Model.Understand(ctx, world, message, check)
	m.log.InfoContext(ctx, "language model asked", "model", m.Name(), "prompt_tokens", answer.PromptTokens,
		"completion_tokens", answer.CompletionTokens, "understood", err == nil)
	return answer.Operations, err
}
