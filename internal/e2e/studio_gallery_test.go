package e2e

import (
	"bytes"
	"flag"
	"image"
	"image/jpeg"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

var updateGallery = flag.Bool("gallery", false, "write the pictures of doc/studio.md anew")

// pictureAndWords are a picture of the page with the sentences under it.
var pictureAndWords = regexp.MustCompile(`!\[[^\]]*\]\((images/studio-[a-z-]+\.jpg)\)\n\n((?:> .*\n)+)`)

// mostDifference is how much a picture may differ from the page's, in the mean of all channels: other versions of a browser round
// and smooth otherwise, and JPEG blurs.
const mostDifference = 0.05

// TestStudioGallery says the sentences under each picture of the studio's page and compares what is drawn.
func TestStudioGallery(t *testing.T) {
	t.Parallel()
	needRenderers(t)
	page, err := os.ReadFile("../../doc/studio.md")
	if err != nil {
		t.Fatal(err)
	}
	found := pictureAndWords.FindAllStringSubmatch(string(page), -1)
	if len(found) < 4 {
		t.Fatalf("the page has %d pictures with their sentences", len(found))
	}
	structure, err := filepath.Abs(retinoid)
	if err != nil {
		t.Fatal(err)
	}
	sh := start(t, "MOLFABRIC_PREVIEWS=1", "MOLFABRIC_PREVIEW_LIMIT=2m").signIn()
	for _, one := range found {
		name := filepath.Join("../../doc", one[1])
		var sentences []string
		for line := range strings.Lines(one[2]) {
			sentences = append(sentences, strings.TrimSpace(strings.TrimPrefix(line, "> ")))
		}
		sh.previewed(append(append([]string{"studio", structure}, sentences...), "-p", "now.png")...)
		drawn := sh.picture("now.png")
		if *updateGallery {
			var text bytes.Buffer
			if err := jpeg.Encode(&text, drawn, &jpeg.Options{Quality: 88}); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, text.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		kept, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		shown, err := jpeg.Decode(bytes.NewReader(kept))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if d := unlike(drawn, shown); d > mostDifference {
			t.Errorf("%s is not what %q draws: they differ by %.3f", name, sentences, d)
		}
	}
}

// unlike is the mean of what two pictures differ by, 0 to 1; 1 when their sizes do.
func unlike(a, b image.Image) float64 {
	if a.Bounds().Size() != b.Bounds().Size() {
		return 1
	}
	sum, bounds := 0.0, a.Bounds()
	for y := range bounds.Dy() {
		for x := range bounds.Dx() {
			r1, g1, b1, _ := a.At(bounds.Min.X+x, bounds.Min.Y+y).RGBA()
			r2, g2, b2, _ := b.At(b.Bounds().Min.X+x, b.Bounds().Min.Y+y).RGBA()
			for _, pair := range [][2]uint32{{r1, r2}, {g1, g2}, {b1, b2}} {
				sum += float64(max(pair[0], pair[1])-min(pair[0], pair[1])) / 0xffff
			}
		}
	}
	return sum / float64(3*bounds.Dx()*bounds.Dy())
}

// previewPatience bounds the wait for a picture: the first renderer compiles for a minute of a processor, and all other tests run
// beside it.
const previewPatience = 15 * time.Minute

// previewed runs a command that draws a preview, again where no renderer is at hand or the machine is too busy for this one.
func (sh *shell) previewed(args ...string) {
	sh.t.Helper()
	for begun := time.Now(); time.Since(begun) < previewPatience; time.Sleep(time.Second) {
		said, err := sh.command(args...).CombinedOutput()
		if err == nil {
			return
		}
		if !strings.Contains(string(said), "no renderer") && !strings.Contains(string(said), "was not drawn within") {
			sh.t.Fatalf("molfabric %s: %v: %s", strings.Join(args, " "), err, said)
		}
	}
	sh.t.Fatal("no renderer has drawn the picture")
}
