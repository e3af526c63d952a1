package docking

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/molfabric/molfabric/api/list"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/object"
)

const (
	// maxRecordBytes bounds one record of an SDF file: a molecule of a thousand atoms has some 150 kB.
	maxRecordBytes = 1 << 20
	// maxSDFBytes bounds what is read of a file: a hundred poses, the most there are, of a very large ligand.
	maxSDFBytes = 32 << 20
	// recordReaders bounds the files that one export reads at once.
	recordReaders = 8
	// endOfRecord is the line that ends a record of an SDF file.
	endOfRecord = "$$$$"
)

// wanted is one record of a stored SDF file.
type wanted struct {
	storageKey string
	record     int // from 1
}

// errNoRecord says that a file has no such record, or is no SDF file.
var errNoRecord = errors.New("the file has no such record")

// records reads records of stored files, each file once. A record that is not there for good is left out of the answer. Errors:
// those of a store that is away.
func (s *Service) records(ctx context.Context, all []wanted) (map[wanted][]byte, error) {
	files := map[string][]wanted{}
	for _, w := range all {
		files[w.storageKey] = append(files[w.storageKey], w)
	}
	names := slices.Collect(maps.Keys(files))
	read := make([]map[int][]byte, len(names)) // a place for each reader
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(recordReaders)
	for i, name := range names {
		highest := 0
		for _, w := range files[name] {
			highest = max(highest, w.record)
		}
		group.Go(func() (err error) {
			read[i], err = s.readRecords(ctx, name, highest)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	found := map[wanted][]byte{}
	for i, name := range names {
		for _, w := range files[name] {
			if text := read[i][w.record]; text != nil {
				found[w] = text
			}
		}
	}
	return found, nil
}

// readRecords reads the first records of a stored file. A file that is gone or broken gives what could be read of it.
func (s *Service) readRecords(ctx context.Context, key string, most int) (map[int][]byte, error) {
	body, _, err := s.deps.Objects.Get(ctx, key)
	if errors.Is(err, object.ErrNotFound) {
		s.deps.Log.Warn("a pose's file is gone", "key", key)
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading poses: %w", err)
	}
	defer body.Close()
	found := map[int][]byte{}
	in := bufio.NewReader(io.LimitReader(body, maxSDFBytes))
	for number := 1; number <= most; number++ {
		record, err := nextRecord(in)
		if errors.Is(err, errNoRecord) {
			s.deps.Log.Warn("a pose's file has too few records", "key", key, "record", number)
			break
		}
		if err != nil {
			return nil, fmt.Errorf("reading poses: %w", err)
		}
		found[number] = record
	}
	return found, nil
}

// nextRecord reads a record without the line that ends it. Errors: errNoRecord, and those of the reader.
func nextRecord(in *bufio.Reader) ([]byte, error) {
	var record []byte
	for {
		line, err := in.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if string(bytes.TrimRight(line, "\r\n")) == endOfRecord {
			return record, nil
		}
		if record = append(record, line...); errors.Is(err, io.EOF) || len(record) > maxRecordBytes {
			return nil, errNoRecord
		}
	}
}

// item is a data item of an SDF record.
type item struct{ name, value string }

// drawn is a record with further data items. A pose whose record is lost gets a molecule without atoms, so that the reader sees
// that it is missing, and which it is.
func drawn(record []byte, title string, items []item) []byte {
	if record == nil {
		record = fmt.Appendf(nil, "%s\n\n\n  0  0  0  0  0  0  0  0  0  0999 V2000\nM  END\n", oneLine(title))
		items = append(items, item{"error", "the file with this pose is lost"})
	}
	out := bytes.Clone(record)
	for _, one := range items {
		if value := oneLine(one.value); value != "" && !bytes.Contains(record, []byte("<"+one.name+">")) {
			out = fmt.Appendf(out, ">  <%s>\n%s\n\n", one.name, value)
		}
	}
	return append(out, endOfRecord+"\n"...)
}

// oneLine is text that cannot end a data item or a record.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if strings.HasPrefix(text, endOfRecord) {
		return "'" + text
	}
	return text
}

// drawResults writes the best pose of each result that has one.
func (s *Service) drawResults(ctx context.Context, accountID string, rows []resultRow) ([]byte, error) {
	ids := make([]string, len(rows))
	for i, row := range rows {
		ids[i] = row.ID
	}
	drawings, err := s.store.drawings(ctx, accountID, ids)
	if err != nil {
		return nil, err
	}
	var all []wanted
	for _, d := range drawings {
		all = append(all, wanted{d.StorageKey, d.Rank})
	}
	found, err := s.records(ctx, all)
	if err != nil {
		return nil, err
	}
	var out []byte
	for _, row := range rows {
		d, has := drawings[row.ID]
		if !has {
			continue
		}
		view, err := row.view()
		if err != nil {
			return nil, err
		}
		out = append(out, drawn(found[wanted{d.StorageKey, d.Rank}], view.LigandID, resultItems(view, d.PoseID))...)
	}
	return out, nil
}

func resultItems(r contract.DockingResult, poseID string) []item {
	return []item{
		{"ligandId", r.LigandID}, {"label", r.Label}, {"rank", list.Whole(r.Rank)}, {"bestScoreKcalMol",
			list.Number(r.BestScoreKcalMol)},
		{"ligandEfficiency", list.Number(r.LigandEfficiency)}, {"cnnScore", list.Number(r.CNNScore)},
		{"cnnAffinityPk", list.Number(r.CNNAffinityPk)}, {"canonicalSmiles", plain(r.CanonicalSMILES)}, {"inchiKey",
			plain(r.InChIKey)},
		{"passedChecks", truth(r.PassedChecks)}, {"interactions", strings.Join(r.Interactions, listSeparator)},
		{"resultId", r.ResultID}, {"poseId", poseID}, {"runId", r.RunID},
	}
}

func plain(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// drawPoses writes poses that have a record.
func (s *Service) drawPoses(ctx context.Context, poses []posed) ([]byte, error) {
	var all []wanted
	for _, p := range poses {
		if sdf := p.Artifacts.SDF; sdf != nil {
			all = append(all, wanted{sdf.StorageKey, sdf.Record})
		}
	}
	found, err := s.records(ctx, all)
	if err != nil {
		return nil, err
	}
	var out []byte
	for _, p := range poses {
		if sdf := p.Artifacts.SDF; sdf != nil {
			out = append(out, drawn(found[wanted{sdf.StorageKey, sdf.Record}], p.LigandID, poseItems(p))...)
		}
	}
	return out, nil
}

func poseItems(p posed) []item {
	return []item{
		{"ligandId", p.LigandID}, {"label", p.Label}, {"poseRank", list.Whole(&p.Rank)}, {"scoreKcalMol",
			list.Number(&p.ScoreKcalMol)},
		{"referenceRmsdAngstrom", list.Number(p.ReferenceRMSDAngstrom)}, {"passedChecks", truth(p.passedChecks())},
		{"interactions", strings.Join(keysOf(p.contacts), listSeparator)}, {"poseId", p.PoseID}, {"resultId", p.ResultID},
		{"runId", p.RunID},
	}
}
