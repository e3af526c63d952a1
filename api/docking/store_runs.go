package docking

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"github.com/molfabric/molfabric/api/list"
	"github.com/molfabric/molfabric/internal/job"
)

type runRow struct {
	sorted
	tally
	ExperimentID       string            `db:"experiment_id"`
	BatchID            sql.NullString    `db:"batch_id"`
	JobID              string            `db:"job_id"`
	JobName            string            `db:"job_name"`
	RequestID          sql.NullString    `db:"request_id"`
	RequestRunID       sql.NullString    `db:"request_run_id"`
	ReproducesRunID    sql.NullString    `db:"reproduces_run_id"`
	Exhaustiveness     int               `db:"exhaustiveness"`
	ExhaustivenessAuto bool              `db:"exhaustiveness_auto"`
	RankBy             string            `db:"rank_by"`
	NumModes           int               `db:"num_modes"`
	EnergyRangeKcalMol float64           `db:"energy_range_kcal_mol"`
	Seed               int64             `db:"seed"`
	CPUThreads         int               `db:"cpu_threads"`
	LigandCount        int               `db:"ligand_count"`
	Programs           json.RawMessage   `db:"programs"`
	Box                *json.RawMessage  `db:"box"`
	Receptor           *json.RawMessage  `db:"receptor"`
	ReceptorInput      json.RawMessage   `db:"receptor_input"`
	ReceptorName       string            `db:"receptor_name"`
	NativeComponentID  sql.NullString    `db:"native_component_id"`
	Validation         *json.RawMessage  `db:"validation"`
	GateRMSDAngstrom   sql.Null[float64] `db:"gate_rmsd_angstrom"`
	CreatedAt          time.Time         `db:"created_at"`

	Status            job.Status    `db:"status"`
	SubmittedAt       time.Time     `db:"submitted_at"`
	StartedAt         sql.NullTime  `db:"started_at"`
	FinishedAt        sql.NullTime  `db:"finished_at"`
	EstimatedPence    int64         `db:"estimated_pence"`
	HeldPence         int64         `db:"held_pence"`
	AccruedMicropence int64         `db:"accrued_micropence"`
	ChargedPence      sql.NullInt64 `db:"charged_pence"`

	CPUMicros         int64 `db:"cpu_us"`
	ReceptorCPUMicros int64 `db:"receptor_cpu_us"`
	DockCPUMicros     int64 `db:"dock_cpu_us"`
}

// runs reads up to limit runs, newest first.
func (s store) runs(ctx context.Context, accountID string, f runFilter, from *place, limit int) ([]runRow, error) {
	c := list.Owned("x.account_id", accountID)
	f.narrow(c)
	newest.behind(c, from)
	return s.selectRuns(ctx, c, limit)
}

// run reads one run. Errors: fault.NotFound, fault.FilesDeleted.
func (s store) run(ctx context.Context, accountID, id string) (runRow, error) {
	c := list.Owned("x.account_id", accountID)
	c.Add("x.id = ?", id)
	row, err := only(s.selectRuns(ctx, c, 1))("run")
	return row, s.orDeleted(ctx, accountID, id, err)
}

// runNamed reads the newest run that the caller has given a name. Errors: fault.NotFound.
func (s store) runNamed(ctx context.Context, accountID, name string) (runRow, error) {
	c := list.Owned("x.account_id", accountID)
	c.Add("x.request_run_id = ?", name)
	return only(s.selectRuns(ctx, c, 1))("run")
}

// runOfJob reads the run of a job. Errors: fault.NotFound.
func (s store) runOfJob(ctx context.Context, accountID, jobID string) (runRow, error) {
	c := list.Owned("x.account_id", accountID)
	c.Add("x.job_id = ?", jobID)
	return only(s.selectRuns(ctx, c, 1))("run")
}

// selectRuns reads runs with the state of their jobs, the CPU time of all attempts of all tasks, and how many ligands stand
// where. The receptor's task is known by its name, those that dock by their stage.
func (s store) selectRuns(ctx context.Context, c *list.Conditions, limit int) ([]runRow, error) {
	var rows []runRow
	err := s.db.SelectContext(ctx, &rows, `
WITH chosen AS MATERIALIZED (
    SELECT x.id, x.experiment_id, x.batch_id, x.job_id, x.request_id, x.request_run_id, x.reproduces_run_id,
        x.exhaustiveness, x.exhaustiveness_auto, x.rank_by, x.num_modes,
        x.energy_range_kcal_mol, x.seed, x.cpu_threads, x.ligand_count, x.programs, x.box, x.receptor, x.native_component_id,
        x.validation,
        x.gate_rmsd_angstrom, x.created_at, j.job_name, j.status, j.created_at AS submitted_at, j.started_at, j.finished_at,
        j.estimated_pence, j.held_pence, j.accrued_micropence, j.charged_pence, `+newest.selected()+`
    FROM docking_runs x JOIN jobs j ON j.id = x.job_id WHERE `+c.String()+` ORDER BY `+newest.by()+` LIMIT `+c.Arg(limit)+`
)
SELECT chosen.*, e.receptor AS receptor_input, e.name AS receptor_name, t.*, u.* FROM chosen
JOIN docking_experiments e ON e.id = chosen.experiment_id
CROSS JOIN LATERAL (`+tallied+`chosen.id) t
CROSS JOIN LATERAL (
    SELECT coalesce(sum(a.cpu_us), 0) AS cpu_us, coalesce(sum(a.cpu_us) FILTER (WHERE k.name = 'receptor'), 0) AS receptor_cpu_us,
        coalesce(sum(a.cpu_us) FILTER (WHERE k.stage = 'dock'), 0) AS dock_cpu_us
    FROM tasks k JOIN task_attempts a ON a.task_id = k.id WHERE k.job_id = chosen.job_id
) u
ORDER BY `+newest.again(), c.Args...)
	return rows, wrap(err, "reading docking runs")
}
