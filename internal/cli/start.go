package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/contract"
)

// sceneName is the file that stands for the scene of a docking into an entry of the Protein Data Bank: every job has a scene.
const sceneName = "docking.json"

// start uploads what a docking needs and submits it.
func (inv *invocation) start(ctx context.Context, d docking) (submitted client.Answer[contract.SubmitResponse], err error) {
	request, err := inv.upload(ctx, d)
	if err != nil {
		return submitted, inv.unsubmitted(ctx, err)
	}
	return inv.submit(ctx, request, "")
}

// upload stores the receptor and the ligands that are files, and writes the request that names them. The scene is the receptor's
// file; for an entry of the Protein Data Bank, which the service fetches itself, it is the request without its scene.
func (inv *invocation) upload(ctx context.Context, d docking) (dockRequest, error) {
	files, err := inv.uploadFiles(ctx, d)
	if err != nil {
		return dockRequest{}, err
	}
	var scene client.Uploaded
	if d.receptor.path != "" {
		scene, files.receptor = *files.receptor, nil // it is the scene
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

// uploadFiles stores the files of a docking, several at once.
func (inv *invocation) uploadFiles(ctx context.Context, d docking) (files dockFiles, err error) {
	files.ligands = map[string]client.Uploaded{}
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
	for _, one := range files.places(d) {
		transfers.Go(func() error {
			file, err := inv.uploadPlain(limited, one.path, plainName(one.path), receptorBound, client.UploadOptions{})
			*one.into = &file
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
			files.ligands[l.id] = file
			shown.update(100*float64(len(files.ligands))/float64(total),
				fmt.Sprintf("uploading, %d of %d ligands", len(files.ligands), total))
			return err
		})
	}
	err = transfers.Wait()
	shown.close(err == nil)
	return files, err
}

func (inv *invocation) uploadLigand(ctx context.Context, l ligand) (client.Uploaded, error) {
	content, done, err := l.open()
	if err != nil {
		return client.Uploaded{}, err
	}
	defer done()
	uploaded, err := inv.api.Upload(ctx, l.fileName(), content, content.Size())
	if err != nil {
		return client.Uploaded{}, fmt.Errorf("uploading ligand %s of %s: %w", l.label, l.path, err)
	}
	return uploaded, nil
}

// open opens the file of a ligand that is one, or what of its library the ligand is. The caller calls done when it has been read.
func (l ligand) open() (content *io.SectionReader, done func(), err error) {
	if l.library != nil {
		return io.NewSectionReader(l.library, l.offset, l.size), func() {}, nil
	}
	file, err := openPlain(l.path, ligandBound)
	if err != nil {
		return nil, nil, err
	}
	return io.NewSectionReader(file, 0, file.size), func() { file.Close() }, nil
}

// fileName is what a ligand's file is called in the store.
func (l ligand) fileName() string {
	if l.library != nil {
		return l.id + "." + formatOf(l.path)
	}
	return plainName(l.path)
}
