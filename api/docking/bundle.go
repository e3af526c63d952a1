package docking

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/api/list"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/vina"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
)

const (
	typeZIP = "application/zip"
	// maxBundleBytes bounds the stored files of a bundle: about what a client with 20 Mbit/s takes within list.MaxAge, and twice
	// what the largest library's poses have.
	maxBundleBytes = 2 << 30
	// maxBundleFiles bounds the files of a job that a bundle lists: the largest library has two files of poses a ligand, a complex
	// of some, and a log of each task.
	maxBundleFiles = 60_000
	// maxBundleInputs bounds the given files that a bundle lists: one a ligand of the largest library, and the receptor's.
	maxBundleInputs = 10_100
	// requestPart is how much of a submission is in memory at once.
	requestPart = 4 << 20
)

const bundleText = "An archive of a run that has ended, to keep or to publish: an RO-Crate 1.1 with its inputs by their digests, " +
	"programs, command lines, parameters, seed, cost and citations (ro-crate-metadata.json); " +
	"a paragraph for a paper's methods section (methods.md); the submission (request.json); the job's provenance " +
	"(provenance.json); its signed receipt (receipt.json); a list of all files (artifacts.csv); and the results themselves. " +
	"poses=true adds every ligand's poses and the complexes. Each file is held against its SHA-256 on the way: a bundle with a " +
	"file that is gone or has other bytes breaks the connection. " +
	"The same run gives the same bytes. A run that has not ended has no bundle yet (422); one of more than 2 GiB is 413."

// Provenancer knows how jobs' results came to be, and states it.
type Provenancer interface {
	// KeptProvenance is the provenance of one of the account's jobs as JSON, without addresses that expire. Of a job that has ended
	// it is always the same. Errors: fault.NotFound.
	KeptProvenance(ctx context.Context, accountID, jobID string) (json.RawMessage, error)
	// KeptReceipt is the signed receipt of a job of the account that has ended, always the same. Errors: fault.NotFound,
	// fault.PayloadTooLarge.
	KeptReceipt(ctx context.Context, accountID, jobID string) (json.RawMessage, error)
}

type bundleInput struct {
	ID    string `path:"id" doc:"Id of the run, or the caller's own name of it."`
	Poses bool   `query:"poses" doc:"Add every ligand's poses, their analysis and the complexes."`
}

func bundleOperation() huma.Operation {
	op := read("get-docking-run-bundle", "/runs/{id}/bundle", "Download a docking run", bundleText)
	op.Errors = []int{http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity}
	op.Responses = map[string]*huma.Response{"200": {
		Description: "OK", Content: map[string]*huma.MediaType{typeZIP: {Schema: &huma.Schema{Type: huma.TypeString,
			Format: "binary"}}},
	}}
	return op
}

func (s *Service) bundle(ctx context.Context, in *bundleInput) (*huma.StreamResponse, error) {
	return s.Bundle(ctx, access.From(ctx).AccountID, in.ID, in.Poses)
}

// Bundle answers with the archive of one of the account's runs. Errors: fault.NotFound; fault.ArtifactNotFound for a run that has
// not ended; fault.PayloadTooLarge; fault.ChecksumMismatch when the first files are not what they were; fault.RateLimited,
// fault.ProviderUnavailable.
func (s *Service) Bundle(ctx context.Context, accountID, id string, poses bool) (*huma.StreamResponse, error) {
	run, err := s.findRun(ctx, accountID, id)
	if err != nil {
		return nil, err
	}
	if !run.Status.Terminal() {
		return nil, fault.New(fault.ArtifactNotFound, "runId: the run is %s and has a bundle once it has ended; wait for that",
			run.Status)
	}
	d, err := s.dossierOf(ctx, accountID, run, poses)
	if err != nil {
		return nil, err
	}
	parcels, err := s.pack(accountID, d)
	if err != nil {
		return nil, err
	}
	whole, cancel := context.WithTimeout(ctx, list.MaxAge)
	zipper := newZipper(d.endedAt(), parcels)
	return s.exports.Begin(ctx, accountID, list.Export{
		MediaType: typeZIP, Filename: "docking-" + run.ID + ".zip",
		Next:  func(context.Context) ([]byte, error) { return zipper.next(whole) },
		Close: func() { zipper.close(); cancel() },
	})
}

// dossier is everything that a bundle tells of a run.
type dossier struct {
	run        runRow
	documents  documents
	view       contract.DockingRun
	spec       engines.Spec
	files      []madeFile
	given      []givenRow
	steps      []step
	origins    origins
	failures   map[string]int
	request    requestRow
	provenance []byte
	receipt    []byte
}

// endedAt is the time of everything in the bundle.
func (d dossier) endedAt() time.Time {
	if d.run.FinishedAt.Valid {
		return d.run.FinishedAt.Time.UTC()
	}
	return d.run.SubmittedAt.UTC()
}

// madeFile is a file of the job and its place in the bundle.
type madeFile struct {
	madeRow
	path     string
	included bool
}

// step is a program of the job with the command line of its first task.
type step struct {
	stepRow
	argv  []string
	needs []string // outputs of earlier steps
}

func (s *Service) dossierOf(ctx context.Context, accountID string, run runRow, poses bool) (d dossier, err error) {
	d.run = run
	if d.documents, err = run.documents(); err != nil {
		return d, err
	}
	if d.view, err = run.view(s.deps.Currency); err != nil {
		return d, err
	}
	made, err := s.store.made(ctx, accountID, run.JobID, string(engines.RoleIntermediate), maxBundleFiles+1)
	if err != nil {
		return d, err
	}
	if d.files = laidOut(made, poses); len(made) > maxBundleFiles || bytesOf(d.files) > maxBundleBytes {
		return d, fault.New(fault.PayloadTooLarge, "the bundle would have more than %d files or %d bytes; leave poses=true out, "+
			"or download the files one by one", maxBundleFiles, maxBundleBytes)
	}
	if d.given, err = s.store.given(ctx, run.JobID, maxBundleInputs); err != nil {
		return d, err
	}
	if d.origins, err = s.store.origins(ctx, accountID, run.ID); err != nil {
		return d, err
	}
	if d.failures, err = s.store.failures(ctx, accountID, run.ID); err != nil {
		return d, err
	}
	if d.request, err = s.store.request(ctx, accountID, run.JobID); err != nil {
		return d, err
	}
	if err := s.addSteps(ctx, accountID, &d); err != nil {
		return d, err
	}
	provenance, err := s.deps.Provenance.KeptProvenance(ctx, accountID, run.JobID)
	if err != nil {
		return d, err
	}
	var text bytes.Buffer
	if err := json.Indent(&text, provenance, "", "  "); err != nil {
		return d, fmt.Errorf("writing the provenance of job %s: %w", run.JobID, err)
	}
	d.provenance = append(text.Bytes(), '\n')
	d.receipt, err = s.deps.Provenance.KeptReceipt(ctx, accountID, run.JobID)
	return d, err
}

// addSteps reads what has run, and asks the engine for the command lines. A step whose command line nobody knows any more, because
// the engine has changed since, goes without one.
func (s *Service) addSteps(ctx context.Context, accountID string, d *dossier) error {
	rows, shards, err := s.store.steps(ctx, accountID, d.run.JobID)
	if err != nil {
		return err
	}
	engine, served := s.deps.Engines.Lookup(vina.ID)
	if served {
		d.spec = engine.Spec()
	}
	for i, row := range rows {
		one := step{stepRow: row}
		var shard engines.Shard
		if shards[i] != nil && served {
			if err := json.Unmarshal(shards[i], &shard); err != nil {
				return fmt.Errorf("reading a task of job %s: %w", d.run.JobID, err)
			}
			command, err := engine.Command(shard, "")
			if err != nil {
				s.deps.Log.Warn("a command line is not known any more", "job", d.run.JobID, "task", shard.Name, "error", err)
			}
			one.argv = command.Argv
			for _, input := range shard.Inputs {
				if input.From != nil {
					one.needs = append(one.needs, input.From.Output)
				}
			}
		}
		d.steps = append(d.steps, one)
	}
	return nil
}

// pack makes the files of a bundle: what is written here, and what is fetched when its turn comes.
func (s *Service) pack(accountID string, d dossier) ([]parcel, error) {
	list, err := d.list()
	if err != nil {
		return nil, err
	}
	parcels := []parcel{written(fileMethods, d.methods()), written(fileArtifacts, list), written(fileProvenance, d.provenance),
		written(fileReceipt, d.receipt), {
			path: fileRequest, sha256: d.request.SHA256, byteSize: d.request.ByteSize,
			open: func(ctx context.Context) (io.ReadCloser, error) {
				return io.NopCloser(&requestReader{ctx: ctx, store: s.store, accountID: accountID, jobID: d.run.JobID}), nil
			},
		}}
	metadata, err := d.crate(parcels).Metadata()
	if err != nil {
		return nil, err
	}
	parcels = append([]parcel{written(fileMetadata, metadata)}, parcels...)
	for _, f := range d.files {
		if !f.included {
			continue
		}
		parcels = append(parcels, parcel{path: f.path, sha256: f.SHA256, byteSize: f.ByteSize,
			open: func(ctx context.Context) (io.ReadCloser, error) {
				body, _, err := s.deps.Objects.Get(ctx, f.StorageKey)
				return body, err
			}})
	}
	return parcels, nil
}

// requestReader reads a job's request part by part: the largest has 160 MB.
type requestReader struct {
	ctx              context.Context // of the one answer that it is read for
	store            store
	accountID, jobID string
	offset           int64
	part             []byte
}

func (r *requestReader) Read(p []byte) (int, error) {
	if len(r.part) == 0 {
		part, err := r.store.requestPart(r.ctx, r.accountID, r.jobID, r.offset, requestPart)
		if err != nil {
			return 0, err
		}
		if len(part) == 0 {
			return 0, io.EOF
		}
		r.part, r.offset = part, r.offset+int64(len(part))
	}
	n := copy(p, r.part)
	r.part = r.part[n:]
	return n, nil
}

// list is the table of all files of the job.
func (d dossier) list() ([]byte, error) {
	head, err := header(fileColumns)
	if err != nil {
		return nil, err
	}
	rows, err := table(fileColumns, d.files)
	return append(head, rows...), err
}
