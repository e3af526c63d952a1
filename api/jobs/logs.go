package jobs

import (
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"github.com/molfabric/molfabric/api/list"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/object"
)

const (
	// logTailBytes is how much of a log an answer carries: its end, where a program says why it gave up.
	logTailBytes = 16 << 10
	// maxLogAnswerBytes bounds the log text of one answer; a page that would pass it is cut short.
	maxLogAnswerBytes = 512 << 10
	// logReaders bounds the reads from the object store that one answer waits for at once.
	logReaders = 8
)

// LogQuery filters the logs of a job.
type LogQuery struct {
	list.Query
	Task string `query:"task" maxLength:"64" example:"12" doc:"Logs of this task alone: its index or its taskId."`
}

// Logs reads a page of the logs of a job's tasks in the order of the plan. Errors: fault.NotFound, fault.Validation,
// fault.InvalidCursor.
func (s *Service) Logs(ctx context.Context, accountID, jobID string, query LogQuery) (contract.LogList, error) {
	filter, err := logFilterOf(query)
	if err != nil {
		return contract.LogList{}, err
	}
	if _, err := s.withFiles(ctx, accountID, jobID); err != nil {
		return contract.LogList{}, err
	}
	rows, err := s.store.logs(ctx, accountID, jobID, filter)
	if err != nil {
		return contract.LogList{}, err
	}
	rows, next := list.Cut(rows, logPage(rows, query.Limit), func(r logRecord) place {
		return place{Ordinal: &r.Ordinal, Artifact: r.sortKey()}
	})
	logs, err := s.logViews(ctx, rows)
	return contract.LogList{Logs: logs, NextCursor: next}, err
}

var taskIndex = regexp.MustCompile(`^[0-9]{1,9}$`)

func logFilterOf(query LogQuery) (logFilter, error) {
	from, err := list.Read[place](query.Cursor)
	if err != nil {
		return logFilter{}, err
	}
	filter := logFilter{Index: -1, After: from, Limit: query.Limit + 1}
	switch {
	case query.Task == "":
	case taskID.MatchString(query.Task):
		filter.TaskID = query.Task
	case taskIndex.MatchString(query.Task):
		filter.Index, _ = strconv.Atoi(query.Task) // digits alone
	default:
		return logFilter{}, fault.New(fault.Validation, "query.task: give a task's index or its taskId")
	}
	return filter, nil
}

// logPage is how many of the rows one answer shows: at most limit, with at most maxLogAnswerBytes of text, and at least one.
func logPage(rows []logRecord, limit int) int {
	text := int64(0)
	for i, r := range rows {
		if text += min(r.ByteSize.Int64, logTailBytes); i == limit || i > 0 && text > maxLogAnswerBytes {
			return i
		}
	}
	return len(rows)
}

// logViews reads the ends of the logs, several at once.
func (s *Service) logViews(ctx context.Context, rows []logRecord) ([]contract.TaskLog, error) {
	views := make([]contract.TaskLog, len(rows))
	expiresAt := s.deps.Now().UTC().Add(outputURLLifetime).Truncate(time.Second)
	readers, ctx := errgroup.WithContext(ctx)
	readers.SetLimit(logReaders)
	for i, r := range rows {
		readers.Go(func() (err error) {
			views[i], err = s.logView(ctx, r, expiresAt)
			return err
		})
	}
	return views, readers.Wait()
}

func (s *Service) logView(ctx context.Context, r logRecord, expiresAt time.Time) (contract.TaskLog, error) {
	view := contract.TaskLog{
		TaskID: r.TaskID, Index: r.Ordinal, Name: r.Name, Stage: r.Stage, Status: r.Status, Attempt: r.Attempt, Message: r.Message,
	}
	if !r.ArtifactID.Valid {
		return view, nil
	}
	url, err := s.deps.Objects.PresignGet(ctx, r.StorageKey.String, path.Base(r.FileName.String), outputURLLifetime)
	if err != nil {
		return contract.TaskLog{}, fmt.Errorf("signing log %s: %w", r.ArtifactID.String, err)
	}
	view.ArtifactID, view.ByteSize, view.URL, view.URLExpiresAt = &r.ArtifactID.String, r.ByteSize.Int64, &url, &expiresAt
	end, byteSize, err := s.deps.Objects.Tail(ctx, r.StorageKey.String, logTailBytes)
	if errors.Is(err, object.ErrNotFound) { // removed from the store: what is known of it is still true
		return view, nil
	}
	if err != nil {
		return contract.TaskLog{}, err
	}
	view.Truncated = byteSize > int64(len(end))
	view.Text = ref(readable(end, view.Truncated))
	return view, nil
}

// readable is log text as UTF-8. The first character of a cut text may have lost its beginning; it is left out.
func readable(text []byte, cut bool) string {
	for skipped := 1; cut && skipped < utf8.UTFMax && len(text) > 0 && !utf8.RuneStart(text[0]); skipped++ {
		text = text[1:]
	}
	return strings.ToValidUTF8(string(text), "\uFFFD")
}

// sortKey is the entry's place among those of its task: files in the order of their making, then the attempt that runs.
func (r logRecord) sortKey() string {
	if r.ArtifactID.Valid {
		return r.ArtifactID.String
	}
	return runningKey
}
