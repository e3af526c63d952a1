package cli

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/molfabric/molfabric/internal/client"
)

const (
	// maxAttachments is how many files a submission may name beside its scene.
	maxAttachments = 1000
	// maxWalked bounds the entries of a folder that are looked at: beyond it, the folder is not what was meant.
	maxWalked = 100_000
	// maxLogicalBytes and maxSegmentBytes bound a path in a project package, and each name in it (doc/contract.md §2.6).
	maxLogicalBytes = 800
	maxSegmentBytes = 255
	// shownFrom is the size from which an upload takes long enough to be shown.
	shownFrom = 8 << 20
)

// packedFile is a file that a renderer gets, and its place beside the others.
type packedFile struct {
	path     string // here
	logical  string // in the package, with slashes
	size     int64  // bytes
	unpacked bool   // what it holds is sent, not the gzip file that it may be
}

// scenePackage is a scene and the files that it refers to. Their relative places hold on the renderer's side.
type scenePackage struct {
	scene  packedFile
	assets []packedFile // at most maxAttachments, by their places
	hidden int          // files and folders that were left out because their names begin with a dot
	empty  int          // files that were left out because nothing is in them
}

func (p *scenePackage) size() int64 {
	total := p.scene.size
	for _, asset := range p.assets {
		total += asset.size
	}
	return total
}

// text says what is sent.
func (p *scenePackage) text() string {
	text := filepath.Base(p.scene.path)
	if count := len(p.assets); count > 0 {
		text = fmt.Sprintf("%s and %s, %s in all", p.scene.logical, counted(count, "file", "files"), bytesText(p.size()))
	}
	var left []string
	if p.hidden > 0 {
		left = append(left, counted(p.hidden, "hidden one", "hidden ones"))
	}
	if p.empty > 0 {
		left = append(left, counted(p.empty, "empty one", "empty ones"))
	}
	if len(left) > 0 {
		text += "; left out: " + strings.Join(left, ", ")
	}
	return text
}

func counted(count int, singular, plural string) string {
	if count == 1 {
		return "1 " + singular
	}
	return fmt.Sprintf("%d %s", count, plural)
}

// packProject makes a package of a project's folder, which holds the scene: every file below it, but for hidden and empty ones and
// for what lies in the folder without, which takes the results.
func packProject(scene, folder, without string) (*scenePackage, error) {
	root, err := realPath(folder)
	if err != nil {
		return nil, invalidInput("--project: %v", err)
	}
	at, err := realPath(scene)
	if err != nil {
		return nil, invalidInput("%v", err)
	}
	if logical, err := filepath.Rel(root, at); err != nil || !filepath.IsLocal(logical) {
		return nil, usage("--project %s: %s does not lie in it", folder, scene)
	}
	pack := &scenePackage{}
	files, err := pack.walk(root, without)
	if err != nil {
		return nil, err
	}
	err = pack.fill(root, at, files)
	return pack, err
}

// packAssets makes a package of a scene and the files and folders named for it. Its root is the deepest folder that holds them all.
func packAssets(scene string, assets []string, without string) (*scenePackage, error) {
	at, err := realPath(scene)
	if err != nil {
		return nil, invalidInput("%v", err)
	}
	pack, root := &scenePackage{}, filepath.Dir(at)
	var files []string
	for _, asset := range assets {
		file, err := realPath(asset)
		if err != nil {
			return nil, invalidInput("--asset: %v", err)
		}
		info, err := os.Stat(file)
		switch {
		case err != nil:
			return nil, invalidInput("--asset: %v", err)
		case !info.IsDir():
			if !info.Mode().IsRegular() || info.Size() == 0 {
				return nil, invalidInput("--asset %s: is empty, or no regular file", asset)
			}
			files = append(files, file)
		default:
			found, err := pack.walk(file, without)
			if err != nil {
				return nil, err
			}
			files = append(files, found...)
		}
		root = commonFolder(root, filepath.Dir(file))
	}
	err = pack.fill(root, at, files)
	return pack, err
}

// fill gives the scene and the files their places below the root.
func (p *scenePackage) fill(root, scene string, files []string) error {
	slices.Sort(files)
	for _, file := range slices.Compact(files) {
		if file == scene {
			continue
		}
		packed, err := placed(root, file)
		if err != nil {
			return err
		}
		p.assets = append(p.assets, packed)
	}
	if len(p.assets) > maxAttachments {
		return invalidInput("%d files would be sent beside the scene; a job takes at most %d: pack them into the scene (File › "+
			"External Data › Pack Resources), or name what it needs with --asset",
			len(p.assets), maxAttachments)
	}
	var err error
	p.scene, err = placed(root, scene)
	return err
}

// placed measures a file below the root.
func placed(root, file string) (packedFile, error) {
	below, err := filepath.Rel(root, file)
	if err != nil || !filepath.IsLocal(below) {
		return packedFile{}, invalidInput("%s: has no path that leads to it from %s", file, root)
	}
	info, err := os.Stat(file)
	if err != nil {
		return packedFile{}, invalidInput("%v", err)
	}
	packed := packedFile{path: file, logical: filepath.ToSlash(below), size: info.Size()}
	if reason := wrongPlace(packed.logical); reason != "" {
		return packedFile{}, invalidInput("%q: %s", packed.logical, reason)
	}
	return packed, nil
}

// wrongPlace says what speaks against a path in a package, or "".
func wrongPlace(logical string) string {
	control := func(r rune) bool { return r < 0x20 || r == 0x7f }
	switch {
	case len(logical) > maxLogicalBytes:
		return fmt.Sprintf("a path in a package has at most %d bytes", maxLogicalBytes)
	case !utf8.ValidString(logical) || strings.ContainsFunc(logical, control) || strings.Contains(logical, `\`):
		return "a name in a package is UTF-8 without control characters and backslashes; rename the file"
	}
	for segment := range strings.SplitSeq(logical, "/") {
		if len(segment) > maxSegmentBytes {
			return fmt.Sprintf("a name in a package has at most %d bytes", maxSegmentBytes)
		}
	}
	return ""
}

// walk lists the files below a folder. A link is refused: what it means may lie outside, and nobody has said that it shall be sent.
func (p *scenePackage) walk(folder, without string) ([]string, error) {
	if without != "" {
		if absolute, err := realPath(without); err == nil {
			without = absolute
		}
	}
	var files []string
	walked := 0
	err := filepath.WalkDir(folder, func(file string, entry fs.DirEntry, err error) error {
		if walked++; walked > maxWalked {
			return invalidInput("%s: holds more than %d files and folders; name a smaller folder", folder, maxWalked)
		}
		if err != nil {
			return invalidInput("%v", err)
		}
		if file != folder && (file == without || strings.HasPrefix(entry.Name(), ".")) {
			if file != without {
				p.hidden++
			}
			if entry.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		return p.take(&files, file, entry)
	})
	return files, err
}

func (p *scenePackage) take(files *[]string, file string, entry fs.DirEntry) error {
	if entry.IsDir() {
		return nil
	}
	if !entry.Type().IsRegular() {
		return invalidInput("%s: is a link or another thing that is no regular file; put the file itself there, or name what the "+
			"scene needs with --asset", file)
	}
	info, err := entry.Info()
	if err != nil {
		return invalidInput("%v", err)
	}
	if info.Size() == 0 {
		p.empty++
		return nil
	}
	*files = append(*files, file)
	return nil
}

// realPath is an absolute path without links in it.
func realPath(name string) (string, error) {
	absolute, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(absolute)
}

// commonFolder is the deepest folder that holds both.
func commonFolder(a, b string) string {
	for {
		if below, err := filepath.Rel(a, b); err == nil && (below == "." || filepath.IsLocal(below)) || filepath.Dir(a) == a {
			return a
		}
		a = filepath.Dir(a)
	}
}

// uploadScene stores a package, several files at once, and returns the keys of the scene and of the files beside it.
func (inv *invocation) uploadScene(ctx context.Context, pack *scenePackage) (scene string, attachments []string, err error) {
	files := append([]packedFile{pack.scene}, pack.assets...)
	projectID := ""
	if len(files) > 1 {
		projectID = uuid.NewString()
	}
	shown := inv.newUploads(files)
	keys := make([]string, len(files))
	transfers, together := errgroup.WithContext(ctx)
	transfers.SetLimit(maxTransfers)
	for i, file := range files {
		transfers.Go(func() error {
			options := client.UploadOptions{Progress: func(sent, there int64) { shown.sent(i, sent+there) }}
			if projectID != "" {
				options.ProjectID, options.LogicalPath = projectID, file.logical
			}
			uploaded, err := inv.uploadPacked(together, file, options)
			keys[i] = uploaded.StorageKey
			return err
		})
	}
	err = transfers.Wait()
	shown.display.close(err == nil)
	return keys[0], keys[1:], inv.unsubmitted(ctx, err)
}

func (inv *invocation) uploadPacked(ctx context.Context, file packedFile, options client.UploadOptions) (client.Uploaded, error) {
	if file.unpacked {
		return inv.uploadPlain(ctx, file.path, plainName(file.path), sceneBound, options)
	}
	return inv.api.UploadFileWith(ctx, file.path, options)
}

// uploads shows how far several files are.
type uploads struct {
	display display
	mu      sync.Mutex
	bytes   []int64 // of each file that are there
	total   int64
}

func (inv *invocation) newUploads(files []packedFile) *uploads {
	u := &uploads{display: noDisplay{}, bytes: make([]int64, len(files))}
	for _, file := range files {
		u.total += file.size
	}
	if !inv.json && (u.total >= shownFrom || len(files) > maxTransfers) {
		u.display = newDisplay(inv.err, inv.now, 0)
	}
	return u
}

func (u *uploads) sent(file int, bytes int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.bytes[file] = bytes
	var there int64
	for _, n := range u.bytes {
		there += n
	}
	u.display.update(100*float64(there)/float64(max(u.total, 1)), fmt.Sprintf("uploading, %s of %s", bytesText(there),
		bytesText(u.total)))
}

// packReferences makes a package of a scene and of what it refers to: the path of each file here, by its place relative to the
// scene.
func packReferences(scene string, size int64, references map[string]string) (*scenePackage, error) {
	pack := &scenePackage{scene: packedFile{path: scene, logical: plainName(scene), size: size, unpacked: true}}
	for logical, file := range references {
		info, err := os.Stat(file)
		if err != nil {
			return nil, invalidInput("%v", err)
		}
		if reason := wrongPlace(logical); reason != "" {
			return nil, invalidInput("%q: %s", logical, reason)
		}
		if path.Clean(logical) == pack.scene.logical {
			return nil, invalidInput("%s: refers to itself", scene)
		}
		pack.assets = append(pack.assets, packedFile{path: file, logical: path.Clean(logical), size: info.Size()})
	}
	slices.SortFunc(pack.assets, func(a, b packedFile) int { return strings.Compare(a.logical, b.logical) })
	if len(pack.assets) > maxAttachments {
		return nil, invalidInput("%s: refers to %d files; a job takes at most %d", scene, len(pack.assets), maxAttachments)
	}
	return pack, nil
}
