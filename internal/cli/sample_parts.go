package cli

import (
	"regexp"
	"strconv"

	"github.com/molfabric/molfabric/internal/receipt"
)

const (
	// roleResult is the role of files that the same task makes to the byte; logs and provenance hold times.
	roleResult = "result"
	// jobTypeSimulation is the only type of job that is run again by itself.
	jobTypeSimulation = "simulation"
)

// part is a file of a receipt that can be made again, with the task that made it.
type part struct {
	receipt.Output
	task   receipt.Task
	place  int    // of the ligand in its submission, from 0; of a docking alone
	ligand string // its id, once the submission has been read
	shared bool   // its task has docked other ligands too, which its identity counts
}

// isDocked tells whether a receipt is of a docking.
func isDocked(s receipt.Statement) bool { return s.Predicate.Engine.ID == simulator }

// posesForm is the file of a docked ligand's poses. It is called after the ligand's place in the submission, and nothing in it is.
var posesForm = regexp.MustCompile(`^poses/([0-9]{5,6})\.pdbqt$`)

// byChance says of engines whose tasks have an identity why their files are not the same to the byte all the same.
var byChance = map[string]string{"fpocket": "volumes of pockets are estimates by chance (Monte Carlo)"}

// repeatable are the files of a receipt that are the same to the byte whenever they are made: results of tasks with an identity, of
// a docking the poses. Errors: *inputError for a receipt that has none.
func repeatable(s receipt.Statement) ([]part, error) {
	job := s.Predicate.Job
	if job.Type != jobTypeSimulation {
		return nil, invalidInput("--sample: job %s is of the type %s, which is not run again; its signature, its root, its bill "+
			"and, with --dir, its files can be verified without --sample", job.ID, labelOf(job.Type))
	}
	if why := byChance[s.Predicate.Engine.ID]; why != "" {
		return nil, invalidInput("--sample: job %s is of %s, which does not make the same bytes each time: %s; its signature, its "+
			"root, its bill and, with --dir, its files can be verified without --sample", job.ID, s.Predicate.Engine.ID, why)
	}
	tasks, together := tasksOf(s), map[int]int{}
	var parts []part
	for _, output := range s.Subject {
		task := tasks[output.Annotations.TaskIndex]
		if output.Annotations.Role != roleResult || task.Identity == "" {
			continue
		}
		place, isPose := placeOf(output.Annotations.FileName)
		if isDocked(s) && !isPose {
			continue
		}
		together[task.Index]++
		parts = append(parts, part{Output: output, task: task, place: place})
	}
	for i := range parts {
		parts[i].shared = isDocked(s) && together[parts[i].task.Index] > 1
	}
	if len(parts) == 0 {
		return nil, invalidInput("--sample: job %s (%s) has no task that makes the same each time, so there is nothing to run "+
			"again; its signature, its root, its bill and, with --dir, its files can be verified without --sample", job.ID,
			labelOf(s.Predicate.Engine.ID))
	}
	return parts, nil
}

func tasksOf(s receipt.Statement) map[int]receipt.Task {
	tasks := map[int]receipt.Task{}
	for _, task := range s.Predicate.Tasks {
		tasks[task.Index] = task
	}
	return tasks
}

// placeOf is the place of the ligand, from 0, whose poses a file holds.
func placeOf(file string) (place int, isPose bool) {
	found := posesForm.FindStringSubmatch(file)
	if found == nil {
		return 0, false
	}
	number, err := strconv.Atoi(found[1])
	return number - 1, err == nil && number > 0
}
