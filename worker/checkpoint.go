package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/object"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/worker/sandbox"
)

const (
	// maxCheckpointsALine bounds what one line of a program may name: a checkpoint is a handful of files.
	maxCheckpointsALine = 100
	// checkpointPause is how long a store that is away is left alone before it is asked to take a checkpoint again.
	checkpointPause = 2 * time.Second
	// flushTimeout bounds the storing of the last checkpoints after the program has ended. With the grace that a stopped program
	// has it must fit into storeGrace: a draining worker is where they are needed most.
	flushTimeout = 15 * time.Second
	// meterPause is how long what a program has used is not read again, so that one which names files all the time does not keep
	// the worker busy. Until then what it had used at the last reading counts, which is less.
	meterPause = 100 * time.Millisecond
)

// saver stores the checkpoints of one attempt while its program runs. What the program tells is noted at once and stored on a
// goroutine of its own, in rounds: a round stores what has been told since the last one, reports it and waits until the report
// has been committed. A file that is told more often than that is stored once a round, as it then is.
type saver struct {
	worker *Worker
	a      *attempt
	engine engines.Checkpointer
	dir    engines.Dir
	used   func() (queue.Usage, bool) // what the program has used until now
	ctx    context.Context            // of the worker's work as a whole: what is stored outlives the attempt
	cancel context.CancelFunc
	wake   chan struct{}
	ended  chan struct{} // closed when the program has ended and its last checkpoints are wanted
	done   chan struct{} // closed when nothing more is stored

	mu      sync.Mutex
	told    map[string]bool // names to be stored
	known   map[string]bool // every name that was told or resumed from; at most queue.MaxCheckpoints
	usage   queue.Usage     // when finished work was last told
	metered time.Time       // when usage was read

	refusing sync.Once
	// The rest is run's alone, and of others only after done.
	saved      map[string]int64 // bytes of the newest version, by name; also of those that were resumed from
	totalBytes int64
	stored     int    // versions of files, for their keys
	last       string // the key that was written to and is not told, perhaps in vain
	kept       queue.Usage
	reports    int64 // made so far
}

// saveCheckpoints begins to store what the program of an attempt will save; used tells what that has used. It returns nil when its
// engine saves nothing. The caller calls finish.
func (w *Worker) saveCheckpoints(a *attempt, engine engines.Engine, dir engines.Dir, used func() (queue.Usage, bool)) *saver {
	checkpointer, ok := engine.(engines.Checkpointer)
	if !ok {
		return nil
	}
	s := &saver{worker: w, a: a, engine: checkpointer, dir: dir, used: used, wake: make(chan struct{}, 1),
		ended: make(chan struct{}), done: make(chan struct{}), told: map[string]bool{}, known: map[string]bool{},
		saved: map[string]int64{}}
	for _, input := range a.order.Inputs {
		if input.Resume {
			name := queue.ResumedCheckpoint(input.Name)
			s.known[name], s.saved[name] = true, input.Object.ByteSize
			s.totalBytes += input.Object.ByteSize
		}
	}
	s.ctx, s.cancel = context.WithCancel(a.life)
	go s.run()
	return s
}

// heard notes what a line of the program tells. It waits for nobody. The names are the program's, and nothing is believed of them.
func (s *saver) heard(line string) {
	names, ok := s.engine.Checkpoint(line)
	if !ok {
		return
	}
	if len(names) > maxCheckpointsALine {
		s.refuse("", fmt.Errorf("%d names in a line, at most %d are read", len(names), maxCheckpointsALine))
		names = names[:maxCheckpointsALine]
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	finished := false
	for _, name := range names {
		switch {
		case !queue.ValidCheckpointName(name):
			s.refuse(name, errors.New("not a name that a checkpoint may have"))
		case !s.known[name] && len(s.known) >= queue.MaxCheckpoints:
			s.refuse(name, fmt.Errorf("the shard has %d checkpoints already", len(s.known)))
		default:
			s.known[name], s.told[name] = true, true
			finished = finished || queue.KeepsWork(name)
		}
	}
	if finished {
		s.readMeter()
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// readMeter notes what the program has used for the work that it tells of, before it goes on with the next. The caller holds mu.
func (s *saver) readMeter() {
	if time.Since(s.metered) < meterPause {
		return
	}
	if usage, ok := s.used(); ok {
		s.usage, s.metered = usage, time.Now()
	}
}

// refuse logs the first checkpoint of an attempt that cannot be kept; a program may name thousands.
func (s *saver) refuse(name string, reason error) {
	s.refusing.Do(func() {
		s.a.log.Warn("checkpoint refused; further ones are refused silently", "name", name, "error", reason)
	})
}

// run stores what is heard until the attempt has ended.
func (s *saver) run() {
	defer close(s.done)
	for {
		select {
		case <-s.wake:
			s.save()
		case <-s.ended:
			s.save()
			return
		case <-s.ctx.Done():
			return
		}
	}
}

// save stores and reports what has been told until nothing is left to store. While the store is away it tries again.
func (s *saver) save() {
	failing := false
	for names, usage := s.take(); len(names) > 0 && s.ctx.Err() == nil; names, usage = s.take() {
		files, err := s.storeAll(names)
		if keptAll(names, files) {
			s.kept = usage
		}
		if len(files) > 0 {
			s.reportAndWait(files)
		}
		if err != nil && s.ctx.Err() == nil && !failing {
			s.a.log.Warn("checkpoints wait for the object store", "error", err)
		}
		if failing = err != nil; failing {
			wait(s.ctx, checkpointPause)
		}
	}
}

// keptAll reports whether names tell of finished work and all of that is among the files that were stored: only then is what was
// used for it kept too.
func keptAll(names []string, files []queue.StoredArtifact) bool {
	told, stored := 0, 0
	for _, name := range names {
		if queue.KeepsWork(name) {
			told++
		}
	}
	for _, file := range files {
		if queue.KeepsWork(file.Name) {
			stored++
		}
	}
	return told > 0 && stored == told
}

// take returns the names that have been told since it was last called, in their order, and what had been used for them and for all
// that was told before.
func (s *saver) take() ([]string, queue.Usage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := slices.Sorted(maps.Keys(s.told))
	clear(s.told)
	return names, s.usage
}

// putBack has names taken again.
func (s *saver) putBack(names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range names {
		s.told[name] = true
	}
}

// storeAll stores the files of these names. The error says that the store is away: the names that it did not take are told
// again. A file that cannot be read, or that the store refuses, is left out.
func (s *saver) storeAll(names []string) ([]queue.StoredArtifact, error) {
	var files []queue.StoredArtifact
	for i, name := range names {
		file, err := s.storeOne(name)
		switch {
		case err == nil:
			files = append(files, file)
		case errors.Is(err, object.ErrUnavailable) || s.ctx.Err() != nil:
			s.putBack(names[i:])
			return files, err
		default:
			s.refuse(name, err)
		}
	}
	return files, nil
}

// storeOne stores the newest version of a file under a key of its own: until it has been reported, the version before it is the
// one that the next attempt would get. The program still runs, so no more is read than the file held when it was opened.
func (s *saver) storeOne(name string) (queue.StoredArtifact, error) {
	file, err := sandbox.OpenOutput(s.dir, name)
	if err != nil {
		return queue.StoredArtifact{}, err
	}
	defer file.Close()
	found, err := file.Stat()
	if err != nil {
		return queue.StoredArtifact{}, err
	}
	before, limit := s.saved[name], s.a.order.Shard.Needs.ScratchBytes
	if total := s.totalBytes - before + found.Size(); total > limit {
		return queue.StoredArtifact{}, fmt.Errorf("%d bytes of checkpoints in all are more than the %d allowed", total, limit)
	}
	artifact := engines.Artifact{Name: name, Role: engines.RoleCheckpoint, MediaType: "application/octet-stream",
		Format: "checkpoint"}
	s.last = fmt.Sprintf("%scheckpoint/%06d/%s", s.a.order.OutputPrefix, s.stored, queue.BareCheckpointName(name))
	info, err := s.a.files.Put(s.ctx, s.last, io.NewSectionReader(file, 0, found.Size()), artifact.MediaType, "")
	if now, statErr := file.Stat(); err != nil && statErr == nil && now.Size() < found.Size() {
		return queue.StoredArtifact{}, errors.New("the program cut it while it was being stored") // not for the store to mend
	}
	if err != nil {
		return queue.StoredArtifact{}, err
	}
	s.stored++
	s.totalBytes += info.ByteSize - before
	s.saved[name], s.last = info.ByteSize, ""
	return queue.StoredArtifact{Artifact: artifact, Object: engines.Object{StorageKey: info.Key, SHA256: info.SHA256,
		ByteSize: info.ByteSize}}, nil
}

// reportAndWait reports stored files and waits until the report is committed or the program has ended. The versions that they
// replace are the scheduler's to remove.
func (s *saver) reportAndWait(files []queue.StoredArtifact) {
	event := s.a.event(s.worker.id, ending{})
	s.reports++
	event.Kind, event.Seq, event.Checkpoints, event.Usage = queue.Checkpointed, s.reports, files, s.kept
	committed := make(chan struct{})
	s.worker.outbox.addThen(event, func() { close(committed) })
	select {
	case <-committed:
	case <-s.ended:
	case <-s.ctx.Done():
	}
}

// finish ends the saver when the attempt has. Checkpoints that have been told are still stored, for the next attempt, unless
// this one was a success: then end learns of what may have been stored and was not reported.
func (s *saver) finish(end *ending) {
	if s == nil {
		return
	}
	defer s.cancel()
	if end.result != nil {
		s.cancel()
		<-s.done
		end.stray = s.last
		return
	}
	close(s.ended)
	giveUp := time.AfterFunc(flushTimeout, s.cancel)
	defer giveUp.Stop()
	<-s.done
	if left, _ := s.take(); len(left) > 0 {
		s.a.log.Warn("last checkpoints not stored", "files", len(left))
	}
}

// stageResumed fetches a checkpoint of an earlier attempt. One that is missing, is not what it was or has no room is left out:
// the program then does that work again, and the attempt's reports say so. It returns the bytes fetched. A store that is away fails
// the attempt as with any other input, so that the next one finds the checkpoint.
func (w *Worker) stageResumed(a *attempt, dir engines.Dir, input queue.ResolvedInput) (int64, *engines.Failure) {
	name := queue.ResumedCheckpoint(input.Name)
	if !queue.ValidCheckpointName(name) || queue.ResumeName(name) != input.Name {
		a.leaveOut(input, errors.New("unusable name"))
		return 0, nil
	}
	path := dir.In(input.Name)
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = a.fetch(input.Object, path)
	}
	switch {
	case err == nil:
		return input.Object.ByteSize, nil
	case errors.Is(err, object.ErrUnavailable) || a.ctx.Err() != nil:
		a.log.Error("checkpoint not staged", "input", input.Name, "error", err)
		return 0, systemFailure("STORE_UNAVAILABLE", "the object store did not deliver a checkpoint")
	case errors.Is(err, object.ErrRefused):
		return 0, refusedFailure()
	}
	a.leaveOut(input, err)
	return 0, nil
}

// leaveOut notes that the attempt goes on without a checkpoint that it was to have.
func (a *attempt) leaveOut(input queue.ResolvedInput, reason error) {
	a.redone = a.redone || queue.KeepsWork(input.Name)
	a.log.Warn("checkpoint not resumed from", "input", input.Name, "error", reason)
}
