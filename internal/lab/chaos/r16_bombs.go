package chaos

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/molfabric/molfabric/engines/fpocket"
	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/job"
)

const (
	mebibyte = 1 << 20
	gibibyte = 1 << 30
	// idleBytes is what a process may hold beside what it was sent. Parsed, a request takes some ten times its size
	// (api/limits.go), and twice that before the garbage is collected; nesting alone is never parsed.
	idleBytes     = 512 * mebibyte
	parsedCopies  = 20
	refusedCopies = 4
	// workerBytes is what a worker may hold whatever its inputs are: they go from the store to the disk and from there to programs.
	workerBytes = 512 * mebibyte
	// swellPatience bounds one request or job of this test.
	swellPatience = 10 * time.Minute
)

// sizes are how large the inputs of R16 are.
type sizes struct {
	deepBytes, lineBytes, bombBytes int64
	ligands, smilesBytes            int
}

// swelling is R16.
func swelling(ctx context.Context, w *World, _ *rand.Rand) error {
	s := sizes{deepBytes: 100 * mebibyte, lineBytes: 2 * gibibyte, bombBytes: 2 * gibibyte, ligands: 10_000, smilesBytes: 4096}
	if w.Short {
		s = sizes{deepBytes: 4 * mebibyte, lineBytes: 64 * mebibyte, bombBytes: 128 * mebibyte, ligands: 10_000, smilesBytes: 100}
	}
	if err := w.Start(ctx, 1, 1, 0); err != nil {
		return err
	}
	worker, err := w.StartWorker(ctx, WorkerOptions{Engines: []string{fpocket.ID}})
	if err != nil {
		return err
	}
	account, err := w.Account(ctx, 100*plentyPence)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, w.Bound(swellPatience))
	defer cancel()
	api := w.APIs()[0]
	err = errors.Join(w.swellJSON(ctx, account, s), w.held(api, "json_peak_bytes", idleBytes+refusedCopies*s.deepBytes))
	largest, libraryErr := w.swellLibrary(ctx, account, s)
	err = errors.Join(err, libraryErr, w.held(api, "library_peak_bytes",
		idleBytes+max(parsedCopies*largest, refusedCopies*s.deepBytes)))
	err = errors.Join(err, w.swellArchives(ctx, account, s), w.swellLine(ctx, account, s))
	err = errors.Join(err, w.held(worker, "worker_peak_bytes", workerBytes))
	if !api.Running() || !worker.Running() {
		err = errors.Join(err, errors.New("the API or the worker did not live through it"))
	}
	return err
}

// held expects that a process has at no time held more than so many bytes.
func (w *World) held(p *Process, figure string, most int64) error {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID()))
	if err != nil {
		return err
	}
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	kibibytes, err := strconv.ParseInt(strings.Fields(after)[0], 10, 64)
	if err != nil {
		return err
	}
	peak := kibibytes << 10
	w.Figure(figure, float64(peak))
	if peak > most {
		return fmt.Errorf("%s held %d MiB, at most %d are in order", p.Name, peak>>20, most>>20)
	}
	return nil
}

// swellJSON sends documents that are nothing but depth, to routes that read them before and after they know the caller.
func (w *World) swellJSON(ctx context.Context, a *Account, s sizes) error {
	api := w.APIs()[0]
	var failures []error
	for _, route := range []struct {
		path string
		most int64 // of its bodies
	}{{"/v1/jobs/submit", s.deepBytes}, {"/v1/jobs/estimate", s.deepBytes}, {"/v1/projects", 6 * mebibyte},
		{"/v1/uploads", mebibyte}, {"/v1/auth/sign-in", mebibyte}, {"/v1/public/estimate", mebibyte}} {
		for name, unit := range map[string]string{"arrays": "[", "objects": `{"simulationParams":`, "closed": "[]"} {
			body := bytes.Repeat([]byte(unit), int(min(s.deepBytes, route.most))/len(unit)-1)
			if name == "closed" {
				body = slices.Concat(bytes.Repeat([]byte("["), len(body)/2), bytes.Repeat([]byte("]"), len(body)/2))
			}
			answer, err := a.Send(ctx, api, http.MethodPost, route.path, body, "Idempotency-Key", id.New("k_"))
			if err != nil {
				failures = append(failures, fmt.Errorf("%s of %d bytes to %s: %w", name, len(body), route.path, err))
			} else if answer.Status < 400 || answer.Status >= 500 {
				failures = append(failures, fmt.Errorf("%s of %d bytes to %s: answered %s, want a 4xx", name, len(body), route.path,
					answer))
			}
		}
	}
	return someOf(failures)
}

// swellLibrary submits a library of so many ligands, and cancels it when it was accepted. It returns the size of the request.
func (w *World) swellLibrary(ctx context.Context, a *Account, s sizes) (int64, error) {
	receptor, err := a.Client.Upload(ctx, "receptor.pdb", strings.NewReader(smallReceptor), int64(len(smallReceptor)))
	if err != nil {
		return 0, fmt.Errorf("upload a receptor: %w", err)
	}
	var body bytes.Buffer
	fmt.Fprintf(&body,
		`{"jobType":"simulation","simulator":"autodock-vina","sceneFile":%q,"simulationParams":{"boxCenterAngstrom":[0,0,0],"boxSizeAngstrom":20,"ligandLibrary":[`, receptor.StorageKey)
	// lengths count characters, and these have four bytes
	smiles, label := strings.Repeat("C", s.smilesBytes), strings.Repeat("\U0001F9EA", min(512, s.smilesBytes))
	for i := range s.ligands {
		if i > 0 {
			body.WriteByte(',')
		}
		fmt.Fprintf(&body, `{"ligandId":"ligand-%d","label":%q,"source":{"kind":"smiles","smiles":%q}}`, i, label, smiles)
	}
	body.WriteString("]}}")
	size := int64(body.Len())
	w.Figure("library_bytes", float64(size))
	began := time.Now()
	answer, err := a.sendPatiently(ctx, w.APIs()[0], "/v1/jobs/submit", body.Bytes())
	w.Figure("library_seconds", time.Since(began).Seconds())
	if err != nil {
		return size, fmt.Errorf("the library: %w", err)
	}
	if answer.Status >= 400 && answer.Status < 500 {
		w.Notef("the library of %d MiB was refused: %s", size>>20, answer)
		return size, nil
	}
	var receipt contract.SubmitResponse
	if err := answer.read(&receipt, http.StatusOK, http.StatusCreated, http.StatusAccepted); err != nil {
		return size, fmt.Errorf("the library: %w", err)
	}
	if _, err := a.Client.Cancel(ctx, receipt.JobID, "it was to be accepted"); err != nil {
		return size, fmt.Errorf("cancel the library: %w", err)
	}
	status, err := w.AwaitWithin(ctx, receipt.JobID, swellPatience)
	if err == nil && status != job.Cancelled {
		err = fmt.Errorf("the library ended as %s, want %s", status, job.Cancelled)
	}
	return size, err
}

// sendPatiently sends a large body; its answer may take as long as the context lets it.
func (a *Account) sendPatiently(ctx context.Context, api *Process, path string, body []byte) (Answer, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, api.URL+"/api"+path, bytes.NewReader(body))
	if err != nil {
		return Answer{}, err
	}
	request.Header.Set("Authorization", "Bearer "+a.Key)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Idempotency-Key", id.New("k_"))
	return send(request)
}

// swellArchives submits scenes in archives that unpack to more than they may, or than they say. All of it shows in what the API
// reads.
func (w *World) swellArchives(ctx context.Context, a *Account, s sizes) error {
	honest := []byte(`{"metadata":{"version":"1","timestamp":"2026-01-01T00:00:00Z"},"root":{"kind":"root"}}`)
	bombs := map[string]func(*zip.Writer) error{
		"a long index":       func(z *zip.Writer) error { return swollen(z, "index.mvsj", s.bombBytes, s.bombBytes) },
		"an index that lies": func(z *zip.Writer) error { return swollen(z, "index.mvsj", s.bombBytes, 100) },
		"a long file": func(z *zip.Writer) error {
			return errors.Join(zipped(z, "index.mvsj", honest), announced(z, "x.pdb", 8*gibibyte))
		},
		"files without end": func(z *zip.Writer) error { return errors.Join(zipped(z, "index.mvsj", honest), many(z, 100_000)) },
		"files above": func(z *zip.Writer) error {
			return errors.Join(zipped(z, "index.mvsj", honest), zipped(z, "../x.pdb", nil))
		},
		"an index in an index": func(z *zip.Writer) error {
			return errors.Join(zipped(z, "index.mvsj", honest), zipped(z, "index.mvsj", honest))
		},
	}
	var failures []error
	for name, fill := range bombs {
		var archive bytes.Buffer
		z := zip.NewWriter(&archive)
		if err := errors.Join(fill(z), z.Close()); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		uploaded, err := a.Client.Upload(ctx, "scene.mvsx", bytes.NewReader(archive.Bytes()), int64(archive.Len()))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := a.refused(ctx, w.APIs()[0], map[string]any{"jobType": "molecular", "sceneFile": uploaded.StorageKey,
			"frameStart": 1, "frameEnd": 1,
			"metadata": map[string]any{"resolution": "64x64", "renderEngine": "molstar"}}); err != nil {
			failures = append(failures, fmt.Errorf("%s in %d bytes: %w", name, archive.Len(), err))
		}
	}
	return errors.Join(failures...)
}

// zipped adds a file to an archive.
func zipped(z *zip.Writer, name string, content []byte) error {
	file, err := z.Create(name)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	return err
}

// swollen adds a file of so many blanks that says to have another size.
func swollen(z *zip.Writer, name string, byteSize, said int64) error {
	var packed bytes.Buffer
	deflate, err := flate.NewWriter(&packed, flate.BestSpeed)
	if err != nil {
		return err
	}
	if _, err := io.Copy(deflate, io.LimitReader(filler(' '), byteSize)); err != nil {
		return err
	}
	if err := deflate.Close(); err != nil {
		return err
	}
	return raw(z, name, packed.Bytes(), said)
}

// announced adds a file of which nothing but its size is there.
func announced(z *zip.Writer, name string, said int64) error { return raw(z, name, []byte{3, 0}, said) } // an empty deflate stream

func raw(z *zip.Writer, name string, packed []byte, said int64) error {
	file, err := z.CreateRaw(&zip.FileHeader{Name: name, Method: zip.Deflate, CompressedSize64: uint64(len(packed)),
		UncompressedSize64: uint64(said)})
	if err != nil {
		return err
	}
	_, err = file.Write(packed)
	return err
}

func many(z *zip.Writer, n int) error {
	for i := range n {
		if _, err := z.Create(strconv.Itoa(i)); err != nil {
			return err
		}
	}
	return nil
}

// swellLine lets an engine read a structure that is one long line. It may be refused, or fail for a reason that names its kind.
func (w *World) swellLine(ctx context.Context, a *Account, s sizes) error {
	uploaded, err := a.Client.Upload(ctx, "line.pdb", line{size: s.lineBytes}, s.lineBytes)
	if err != nil {
		var refused *client.Error
		if errors.As(err, &refused) && clientsFault(err) {
			w.Notef("a structure of %d MiB was refused: %v", s.lineBytes>>20, err)
			return nil
		}
		return fmt.Errorf("upload the line: %w", err)
	}
	answer, err := a.Send(ctx, w.APIs()[0], http.MethodPost, "/v1/jobs/submit",
		encode(map[string]any{"jobType": "simulation", "simulator": fpocket.ID, "sceneFile": uploaded.StorageKey}),
		"Idempotency-Key", id.New("k_"))
	if err != nil {
		return fmt.Errorf("the line: %w", err)
	}
	if answer.Status >= 400 && answer.Status < 500 {
		w.Notef("a line of %d MiB was refused: %s", s.lineBytes>>20, answer)
		return nil
	}
	var receipt contract.SubmitResponse
	if err := answer.read(&receipt, http.StatusOK, http.StatusCreated, http.StatusAccepted); err != nil {
		return fmt.Errorf("the line: %w", err)
	}
	status, err := w.AwaitWithin(ctx, receipt.JobID, swellPatience)
	if err != nil {
		return err
	}
	ended, err := a.Client.Job(ctx, receipt.JobID)
	if err != nil {
		return err
	}
	if status != job.Failed || ended.Body.Error == nil || ended.Body.Error.Code == "" || ended.Body.Error.FailureClass == "SYSTEM" {
		return fmt.Errorf("the line ended as %s with %+v, want a failure of the caller's or of the program's", status,
			ended.Body.Error)
	}
	w.Notef("a line of %d MiB ended as %s", s.lineBytes>>20, ended.Body.Error.Code)
	return nil
}

// filler is one byte without end.
type filler byte

func (f filler) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(f)
	}
	return len(p), nil
}

// line is a structure of one atom whose line does not end.
type line struct{ size int64 }

func (l line) ReadAt(p []byte, offset int64) (int, error) {
	const beginning = "ATOM      1  N   MET A   1      27.340  24.430   2.614  1.00  9.67           N"
	for i := range p {
		at := offset + int64(i)
		switch {
		case at >= l.size:
			return i, io.EOF
		case at < int64(len(beginning)):
			p[i] = beginning[at]
		default:
			p[i] = 'X'
		}
	}
	return len(p), nil
}
