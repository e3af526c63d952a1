// Package preview carries requests for small pictures of scenes to workers that keep a renderer warm, and the pictures back. A
// Client asks, which the API has; a Desk is where a worker takes requests and answers them. Between them is Redis, which may lose
// all of it: who asked then hears that nobody drew. The package draws nothing and knows no scene.
package preview

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// What a preview may be.
const (
	MaxWidthPixels  = 960
	MaxHeightPixels = 540
	MinSidePixels   = 16
	// MaxSceneBytes holds a structure of some hundred thousand atoms in an archive.
	MaxSceneBytes = 16 << 20
	// MaxPictureBytes is twice what the pixels of the largest preview take without any compression.
	MaxPictureBytes = 4 << 20
)

// The formats of scenes.
const (
	FormatMVSJ = "mvsj" // a MolViewSpec document
	FormatMVSX = "mvsx" // an archive of one, index.mvsj, with the files that it refers to
)

// Formats are those that are drawn.
var Formats = []string{FormatMVSJ, FormatMVSX}

// Request is a picture that somebody wants at once.
type Request struct {
	AccountID string // whose scene it is: no other account's scene meets it in a process
	Scene     []byte // at most MaxSceneBytes; it may refer to files of its own archive alone
	Format    string // one of Formats

	WidthPixels, HeightPixels int  // MinSidePixels to MaxWidthPixels and MaxHeightPixels
	Transparent               bool // no background
}

// accountForm is that of the ids of accounts. They are parts of entries that are taken apart at spaces.
var accountForm = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*_[A-Za-z0-9_-]{1,80}$`)

// secretForm is that of the secrets under which answers are left.
var secretForm = regexp.MustCompile(`^[A-Z2-7]{26}$`)

// Check says what is wrong with a request; nil for one that may be drawn.
func (r Request) Check() error {
	sides := func(name string, got, most int) string {
		return fmt.Sprintf("%s: %d; a preview has %d to %d", name, got, MinSidePixels, most)
	}
	switch {
	case !accountForm.MatchString(r.AccountID):
		return fmt.Errorf("accountId: %.100q is no id", r.AccountID)
	case !slices.Contains(Formats, r.Format):
		return &RefusedError{fmt.Sprintf("format: %.20q; allowed are %s", r.Format, strings.Join(Formats, " and "))}
	case len(r.Scene) == 0 || len(r.Scene) > MaxSceneBytes:
		return &RefusedError{fmt.Sprintf("scene: %d bytes; a preview is drawn of at most %d MiB, anything larger by a job",
			len(r.Scene), MaxSceneBytes>>20)}
	case r.WidthPixels < MinSidePixels || r.WidthPixels > MaxWidthPixels:
		return &RefusedError{sides("widthPixels", r.WidthPixels, MaxWidthPixels)}
	case r.HeightPixels < MinSidePixels || r.HeightPixels > MaxHeightPixels:
		return &RefusedError{sides("heightPixels", r.HeightPixels, MaxHeightPixels)}
	}
	return nil
}

// RefusedError says that a scene cannot be drawn as a preview, and why, in words for whoever made it. The same scene is refused
// again.
type RefusedError struct{ Message string }

func (e *RefusedError) Error() string { return e.Message }

// UnavailableError says that nobody could draw now.
type UnavailableError struct {
	RetryAfter time.Duration // when to try again, at the earliest
	Reason     string        // a short sentence for people
}

func (e *UnavailableError) Error() string {
	return fmt.Sprintf("%s; try again in %s", e.Reason, e.RetryAfter)
}
