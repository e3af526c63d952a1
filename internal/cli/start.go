package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/molfabric/molfabric/internal/client"
)

// sceneName is the file that stands for the scene of a docking into an entry of the Protein Data Bank: every job has a scene.
const sceneName = "docking.json"

// start uploads what a docking needs and submits it.
func (inv *invocation) start(ctx context.Context, d docking) (client.Receipt, error) {
	request, err := inv.upload(ctx, d)
	if err != nil {
		if ctx.Err() != nil {
			fmt.Fprintln(inv.err, "Interrupted; nothing was submitted.")
			return client.Receipt{}, errInterrupted
		}
		return client.Receipt{}, err
	}
	return inv.submit(ctx, request, "")
}

// upload stores the receptor and the ligands that are files, and writes the request that names them. The scene is the receptor's
// file; for an entry of the Protein Data Bank, which the service fetches itself, it is the request without its scene.
func (inv *invocation) upload(ctx context.Context, d docking) (dockRequest, error) {
	scene, files, err := inv.uploadFiles(ctx, d)
	if err != nil {
		return dockRequest{}, err
	}
	request := newDockRequest(d, files)
	request.JobName = d.name
	if d.receptor.path == "" {
		text, err := json.MarshalIndent(request, "", " ")
		if err != nil {
			return dockRequest{}, fmt.Errorf("writing %s: %w", sceneName, err)
		}
		if scene, err = inv.api.Upload(ctx, sceneName, bytes.NewReader(text), int64(len(text))); err != nil {
			return dockRequest{}, fmt.Errorf("uploading %s: %w", sceneName, err)
		}
	}
	request.SceneFile = scene.StorageKey
	return request, nil
}

// uploadFiles stores the files of a docking, several at once. files is by the ligands' ids.
func (inv *invocation) uploadFiles(ctx context.Context, d docking) (scene client.Uploaded, files map[string]client.Uploaded, err error) {
	files = map[string]client.Uploaded{}
	total := 0
	for _, l := range d.ligands {
		if l.path != "" {
			total++
		}
	}
	var shown display = noDisplay{}
	if total > maxTransfers && !inv.json { // fewer are there before anybody reads it
		shown = newDisplay(inv.err, inv.now, 0)
	}
	var mu sync.Mutex // of files
	transfers, limited := errgroup.WithContext(ctx)
	transfers.SetLimit(maxTransfers)
	if d.receptor.path != "" {
		transfers.Go(func() error {
			var err error
			scene, err = inv.api.UploadFile(limited, d.receptor.path)
			return err
		})
	}
	for _, l := range d.ligands {
		if l.path == "" {
			continue
		}
		transfers.Go(func() error {
			file, err := inv.uploadLigand(limited, l)
			mu.Lock()
			defer mu.Unlock()
			files[l.id] = file
			shown.update(100*float64(len(files))/float64(total), fmt.Sprintf("uploading, %d of %d ligands", len(files), total))
			return err
		})
	}
	err = transfers.Wait()
	shown.close(err == nil)
	return scene, files, err
}

func (inv *invocation) uploadLigand(ctx context.Context, l ligand) (client.Uploaded, error) {
	file, content, err := l.open()
	if err != nil {
		return client.Uploaded{}, err
	}
	defer file.Close()
	uploaded, err := inv.api.Upload(ctx, l.fileName(), content, content.Size())
	if err != nil {
		return client.Uploaded{}, fmt.Errorf("uploading ligand %s of %s: %w", l.label, l.path, err)
	}
	return uploaded, nil
}

// open opens the file of a ligand that is one, and what of it the ligand is.
func (l ligand) open() (*os.File, *io.SectionReader, error) {
	file, err := os.Open(l.path)
	if err != nil {
		return nil, nil, invalidInput("%v", err)
	}
	if l.record {
		return file, io.NewSectionReader(file, l.offset, l.size), nil
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, io.NewSectionReader(file, 0, info.Size()), nil
}

// fileName is what a ligand's file is called in the store.
func (l ligand) fileName() string {
	if l.record {
		return l.id + "." + formatOf(l.path)
	}
	return filepath.Base(l.path)
}
