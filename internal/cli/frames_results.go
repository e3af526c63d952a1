package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strconv"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/job"
)

const (
	previewFile    = "preview.jpg"
	framesTable    = "frames.csv"
	framesDocument = "frames.json"
	framesSchema   = "molfabric.frames/v1"
	// maxFrameTableBytes bounds a table of frames that is read into memory: maxRenderedFrames lines with room.
	maxFrameTableBytes = 64 << 20
)

// rendered are the files of a rendering beside its frames, in the order in which they are explained.
var rendered = []delivered{
	{"film.mp4", "the film"}, {"film.webm", "the film"}, {"contact-sheet.jpg", "all frames at a glance"},
	{framesTable, "time, size and checksum of each frame"}, {framesDocument, "time, size and checksum of the frame"},
	{"scene.json", "what the scene holds, and what of it was turned off"},
	{previewFile, "the newest frame, while they were rendered"}, {provenanceFile, "programs, parameters and checksums"},
}

// renderedFiles are the files of a rendering that its user gets: every frame, and of the others that several tasks have left the
// last task's.
func renderedFiles(outputs []contract.Output) (files []contract.Output) {
	for _, output := range outputs {
		if output.Role == client.RoleFrame {
			files = append(files, output)
		}
	}
	for _, one := range rendered {
		if last, ok := lastOutput(outputs, one.name); ok {
			files = append(files, last)
		}
	}
	return files
}

// lastOutput is the file of this name that the last task has left.
func lastOutput(outputs []contract.Output, name string) (last contract.Output, ok bool) {
	for _, output := range outputs {
		if path.Clean(output.Name) == name && output.Role != client.RoleFrame && (!ok || output.TaskIndex > last.TaskIndex) {
			last, ok = output, true
		}
	}
	return last, ok
}

// fetchRendered downloads what the target is to hold and says where it is; also of a rendering that has failed, as far as it came.
func (inv *invocation) fetchRendered(ctx context.Context, j contract.Job, outputs []contract.Output, t renderTarget) error {
	switch {
	case t.path == "":
		if !inv.json {
			fmt.Fprintf(inv.out, "\n  molfabric outputs %s -o frames   downloads the frames\n", j.JobID)
		}
		return nil
	case t.kind == targetPicture:
		return inv.fetchOne(ctx, j.JobID, t, firstFrame(outputs), "picture")
	case t.kind == targetFilm:
		film, ok := lastOutput(outputs, "film."+t.video)
		if err := inv.fetchOne(ctx, j.JobID, t, given(ok, film), "film"); err != nil || !ok {
			return err
		}
		if err := os.Remove(t.preview()); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return nil
	}
	files := renderedFiles(outputs)
	if err := inv.download(ctx, j.JobID, files, t.path); err != nil || inv.json {
		return err
	}
	showRendered(inv.out, files, t.path)
	return nil
}

// fetchOne downloads the only file that is asked for.
func (inv *invocation) fetchOne(ctx context.Context, jobID string, t renderTarget, file *contract.Output, what string) error {
	if file == nil {
		return nil // how the job ended says why there is none
	}
	if err := inv.api.DownloadOutput(ctx, jobID, *file, t.path); err != nil {
		if ctx.Err() != nil {
			return errInterrupted
		}
		return err
	}
	if !inv.json {
		fmt.Fprintf(inv.out, "\nThe %s is %s, %s.\n", what, t.path, bytesText(file.ByteSize))
	}
	return nil
}

// firstFrame is the frame of the lowest number; nil where there is none.
func firstFrame(outputs []contract.Output) *contract.Output {
	pictures := slices.DeleteFunc(slices.Clone(outputs), func(o contract.Output) bool { return o.Role != client.RoleFrame })
	if len(pictures) == 0 {
		return nil
	}
	number := func(o contract.Output) int64 {
		if o.Frame == nil {
			return 0
		}
		return *o.Frame
	}
	lowest := slices.MinFunc(pictures, func(a, b contract.Output) int { return cmp.Compare(number(a), number(b)) })
	return &lowest
}

// showRendered says what lies in the folder; nothing where a rendering has left nothing.
func showRendered(w io.Writer, files []contract.Output, folder string) {
	if len(files) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s\n  %s with %s\n", painter(w).bold("Results"), folder, counted(pictureCount(files), "frame", "frames"))
	for _, one := range rendered {
		if there(folder, one.name) {
			fmt.Fprintf(w, "    %-17s %s\n", one.name, one.meaning)
		}
	}
}

// frameCost is what a frame took.
type frameCost struct {
	Frame      int64   `json:"frame"`
	Seconds    float64 `json:"seconds"` // of wall time
	CPUSeconds float64 `json:"cpuSeconds"`
	Resumed    bool    `json:"resumed"` // taken over from an earlier attempt
	Tries      int     `json:"tries"`
}

// readFrameTable reads frames.csv, by the names of its columns.
func readFrameTable(text []byte) ([]frameCost, error) {
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s of the job is not one that this program can read: %w", framesTable, err)
	}
	if len(rows) == 0 {
		return nil, nil
	}
	columns := map[string]int{}
	for i, name := range rows[0] {
		columns[name] = i
	}
	cell := func(row []string, name string) string {
		if i, ok := columns[name]; ok && i < len(row) {
			return row[i]
		}
		return ""
	}
	costs := make([]frameCost, 0, len(rows)-1)
	for _, row := range rows[1:] {
		var cost frameCost
		var err error
		if cost.Frame, err = strconv.ParseInt(cell(row, "frame"), 10, 64); err != nil {
			return nil, fmt.Errorf("%s of the job names a frame %q", framesTable, cell(row, "frame"))
		}
		// What a table does not tell of a frame stays nought, and is not shown.
		cost.Seconds, _ = strconv.ParseFloat(cell(row, "seconds"), 64)
		cost.CPUSeconds, _ = strconv.ParseFloat(cell(row, "cpu_seconds"), 64)
		cost.Resumed, _ = strconv.ParseBool(cell(row, "resumed"))
		cost.Tries, _ = strconv.Atoi(cell(row, "tries"))
		costs = append(costs, cost)
	}
	return costs, nil
}

// frameCosts reads what the frames took; nil where the rendering has not told.
func (inv *invocation) frameCosts(ctx context.Context, outputs contract.Outputs) ([]frameCost, error) {
	if output, ok := lastOutput(outputs.Outputs, framesTable); ok {
		text, err := inv.api.FetchOutput(ctx, outputs.JobID, output, maxFrameTableBytes)
		if err != nil {
			return nil, err
		}
		return readFrameTable(text)
	}
	output, ok := lastOutput(outputs.Outputs, framesDocument)
	if !ok {
		return nil, nil
	}
	text, err := inv.api.FetchOutput(ctx, outputs.JobID, output, maxFrameTableBytes)
	if err != nil {
		return nil, err
	}
	var document struct {
		Schema string      `json:"schema"`
		Frames []frameCost `json:"frames"`
	}
	if err := json.Unmarshal(text, &document); err != nil || document.Schema != framesSchema {
		return nil, fmt.Errorf("%s of the job is not one that this program can read", framesDocument)
	}
	return document.Frames, nil
}

// showRendering prints how a rendering that has ended went: its frames, and the failed ones with their reasons. detail says how
// many frames have no picture, or "".
func (inv *invocation) showRendering(ctx context.Context, j contract.Job, _ int) (detail string, err error) {
	outputs, err := inv.api.AllOutputs(ctx, j.JobID)
	if err != nil {
		return "", err
	}
	costs, err := inv.frameCosts(ctx, outputs.Body)
	if err != nil {
		return "", err
	}
	failures, err := inv.frameFailures(ctx, j)
	if err != nil {
		return "", err
	}
	return summary{job: j, pictures: pictureCount(outputs.Body.Outputs), costs: costs, failures: failures}.print(inv.out)
}

// pictureCount is how many frames are there.
func pictureCount(outputs []contract.Output) (count int) {
	for _, output := range outputs {
		if output.Role == client.RoleFrame {
			count++
		}
	}
	return count
}

// frameFailure is a frame without a picture, or a task of which nothing is known but that it failed.
type frameFailure struct{ label, step, message string }

// frameFailures lists what has failed, in the order of the plan.
func (inv *invocation) frameFailures(ctx context.Context, j contract.Job) ([]frameFailure, error) {
	if j.Status == job.Completed {
		return nil, nil
	}
	var failures []frameFailure
	filter := client.TaskFilter{Page: client.Page{Limit: contract.MaxPage}}
	for {
		tasks, err := inv.api.Tasks(ctx, j.JobID, filter)
		if err != nil {
			return nil, err
		}
		for _, task := range tasks.Body.Tasks {
			failures = append(failures, failuresOf(task)...)
		}
		if tasks.Body.NextCursor == nil {
			return failures, nil
		}
		filter.Cursor = *tasks.Body.NextCursor
	}
}

func failuresOf(task contract.Task) (failures []frameFailure) {
	for _, f := range task.ItemFailures {
		label := f.Label
		if label == "" {
			label = "frame " + f.Item
		}
		failures = append(failures, frameFailure{label, f.Step, f.Message})
	}
	if rest := task.ItemFailureCount - len(task.ItemFailures); rest > 0 {
		failures = append(failures, frameFailure{label: counted(rest, "more frame", "more frames") + " of " + task.Name})
	}
	if task.Status == job.TaskFailed && len(failures) == 0 && task.Error != nil {
		failures = append(failures, frameFailure{task.Name, task.Stage, task.Error.Message})
	}
	return failures
}

// summary is what is said of a rendering at its end.
type summary struct {
	job      contract.Job
	pictures int // frames that are there
	costs    []frameCost
	failures []frameFailure
}

// total is how many frames were asked for.
func (s summary) total() int {
	if total := s.job.Progress.FramesTotal; total != nil {
		return max(int(*total), s.pictures)
	}
	return max(s.pictures, len(s.costs)) + len(s.failures)
}

func (s summary) print(w io.Writer) (detail string, err error) {
	p := painter(w)
	missing := 0
	if s.job.Status != job.Completed {
		missing = max(s.total()-s.pictures, 0)
	}
	t := newTable(p, []int{1, 2, 3, 4, 5, 6, 7}, "frames", "without a picture", "seconds a frame", "slowest", "CPU seconds",
		"tried again", "resumed")
	t.AppendRow(append(table.Row{s.pictures, missing}, costCells(s.costs)...))
	if _, err := fmt.Fprintf(w, "\n%s\n", t.Render()); err != nil {
		return "", err
	}
	if len(s.failures) > 0 {
		fmt.Fprintf(w, "\n%s\n", p.bold("What failed"))
	}
	for _, f := range s.failures[:min(len(s.failures), maxFailuresShown)] {
		fmt.Fprintf(w, "  %s\n", shorten(labelOf(f.text()), noteChars))
	}
	if rest := len(s.failures) - maxFailuresShown; rest > 0 {
		fmt.Fprintf(w, "  … and %d more; `molfabric tasks %s --json` names all\n", rest, s.job.JobID)
	}
	if missing > 0 {
		detail = fmt.Sprintf("%d of %s without a picture", missing, counted(s.total(), "frame", "frames"))
	}
	return detail, nil
}

func (f frameFailure) text() string {
	text := f.label
	if f.message != "" {
		text += ": " + f.message
	}
	if f.step != "" {
		text += " (" + f.step + ")"
	}
	return text
}

// eachFrame is what a frame has cost, where that is known and there are several.
func eachFrame(c contract.Cost, pictures int) string {
	if c.Final == nil || pictures < 2 {
		return ""
	}
	charged, err := c.Final.Float64()
	if err != nil {
		return ""
	}
	each := strconv.FormatFloat(charged/float64(pictures), 'f', 4, 64)
	return fmt.Sprintf(", %s a frame", money(contract.Pounds(each), c.Currency))
}

// costCells are the cells of the table behind the counts. Frames that were taken over have cost an earlier attempt.
func costCells(costs []frameCost) table.Row {
	if len(costs) == 0 {
		return table.Row{"–", "–", "–", "–", "–"}
	}
	var seconds, cpuSeconds float64
	again, resumed := 0, 0
	slowest := costs[0]
	for _, cost := range costs {
		seconds += cost.Seconds
		cpuSeconds += cost.CPUSeconds
		if cost.Seconds > slowest.Seconds {
			slowest = cost
		}
		if cost.Tries > 1 {
			again++
		}
		if cost.Resumed {
			resumed++
		}
	}
	return table.Row{
		fmt.Sprintf("%.1f", seconds/float64(len(costs))), fmt.Sprintf("%.1f (frame %d)", slowest.Seconds, slowest.Frame),
		fmt.Sprintf("%.0f", cpuSeconds), again, resumed,
	}
}
