package cli

import (
	"os"
	"path/filepath"
	"strings"
)

// targetKind is what a rendering leaves on this machine.
type targetKind int

const (
	targetFolder  targetKind = iota // frames, film, contact sheet and table, in a folder
	targetPicture                   // one frame, as one file
	targetFilm                      // the film, as one file
)

// renderTarget is where a rendering's files go. A folder of "" leaves them on the server.
type renderTarget struct {
	kind   targetKind
	path   string
	format string // of a picture: PNG, JPEG or EXR
	video  string // of a film: mp4 or webm
}

var (
	pictureFormats = map[string]string{".png": formatPNG, ".jpg": formatJPEG, ".jpeg": formatJPEG, ".exr": formatEXR}
	filmExtensions = map[string]string{".mp4": videoMP4, ".webm": videoWebM}
)

// parseTarget reads -o of `image`: a picture or a film by its extension, else a folder.
func parseTarget(output string) (renderTarget, error) {
	extension := strings.ToLower(filepath.Ext(output))
	info, err := os.Stat(output)
	folder := err == nil && info.IsDir() || strings.HasSuffix(output, "/") || strings.HasSuffix(output, string(filepath.Separator))
	switch {
	case folder || extension == "":
		return renderTarget{kind: targetFolder, path: output}, nil
	case pictureFormats[extension] != "":
		return renderTarget{kind: targetPicture, path: output, format: pictureFormats[extension]}, nil
	case filmExtensions[extension] != "":
		return renderTarget{kind: targetFilm, path: output, video: filmExtensions[extension]}, nil
	}
	return renderTarget{}, usage("-o %s: a picture ends in .png, .jpg, .jpeg or .exr, a film in .mp4 or .webm; a folder ends in /",
		output)
}

// check makes sure that files can go there, before anything is paid for.
func (t renderTarget) check() error {
	if t.path == "" {
		return nil
	}
	folder := filepath.Clean(t.path)
	if t.kind != targetFolder {
		folder = filepath.Dir(folder)
	}
	for {
		info, err := os.Stat(folder)
		switch {
		case err == nil && !info.IsDir():
			return usage("-o %s: %s is a file, no folder", t.path, folder)
		case err == nil || filepath.Dir(folder) == folder:
			return nil
		}
		folder = filepath.Dir(folder)
	}
}

// preview is the file that shows the newest frame while a rendering runs; "" where there is none.
func (t renderTarget) preview() string {
	switch {
	case t.path == "" || t.kind == targetPicture:
		return ""
	case t.kind == targetFilm:
		return strings.TrimSuffix(t.path, filepath.Ext(t.path)) + ".preview.jpg"
	}
	return filepath.Join(t.path, previewFile)
}
