package previews

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/molfabric/molfabric/engines/enginestest"
	"github.com/molfabric/molfabric/engines/render/viewer"
	"github.com/molfabric/molfabric/engines/render/warm"
	"github.com/molfabric/molfabric/internal/molviewspec"
	"github.com/molfabric/molfabric/internal/preview"
	"github.com/molfabric/molfabric/internal/redistest"
	"github.com/molfabric/molfabric/worker/sandbox"
)

const (
	// patience bounds every wait of these tests. A browser that has to compile first takes a minute of one core.
	patience = 10 * time.Minute
	// drawLimit is what scenes may take here: more than any of these takes on a machine that is busy with other tests.
	drawLimit = 5 * time.Minute

	width, height = 480, 270
)

func TestMain(m *testing.M) {
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(goleak.IgnoreAnyFunction("github.com/molfabric/molfabric/internal/proc.fork"),
			goleak.IgnoreAnyFunction("github.com/molfabric/molfabric/internal/servers.(*server).wait"),
			goleak.IgnoreAnyFunction("os/exec.(*Cmd).writerDescriptor.func1")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// runner is the sandbox of all tests.
var runner = sync.OnceValues(func() (*sandbox.Runner, error) {
	return sandbox.New(context.Background(), sandbox.Config{Programs: map[string]string{"python": os.Getenv("MOLFABRIC_PYTHON")},
		Log: slog.New(slog.DiscardHandler)})
})

// newRunner is that sandbox, on a machine that has what renderers are made of.
func newRunner(t *testing.T) *sandbox.Runner {
	t.Helper()
	python := enginestest.Python(t)
	if _, err := os.Stat(filepath.Join(filepath.Dir(filepath.Dir(python)), viewer.PageFolder, "viewer.js")); err != nil {
		enginestest.Skip(t, "build the viewer's page (engines/render/viewer/build.sh) into the scientific Python's "+
			viewer.PageFolder)
	}
	if _, err := exec.LookPath("chromium"); err != nil {
		enginestest.Skip(t, "the program chromium is not installed")
	}
	r, err := runner()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// node is a node of a MolViewSpec document.
func node(kind string, params map[string]any, children ...map[string]any) map[string]any {
	return map[string]any{"kind": kind, "params": params, "children": children}
}

// look is a representation in one colour.
func look(selector, kind, colour string, more map[string]any, children ...map[string]any) map[string]any {
	params := map[string]any{"type": kind}
	maps.Copy(params, more)
	return node("component", map[string]any{"selector": selector},
		node("representation", params, append(children, node("color", map[string]any{"color": colour}))...))
}

// document is a scene of an entry, with what is shown of it and how the stage is.
func document(t *testing.T, address string, shown []map[string]any, stage ...map[string]any) []byte {
	t.Helper()
	entry := node("download", map[string]any{"url": address}, node("parse", map[string]any{"format": "mmcif"},
		node("structure", map[string]any{"type": "model"}, shown...)))
	text, err := json.Marshal(map[string]any{"metadata": map[string]any{"version": "1", "timestamp": "2026-01-01T00:00:00Z"},
		"root": node("root", map[string]any{}, append([]map[string]any{entry}, stage...)...)})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// archive is a document of PDB entry 1CBS packed with it.
func archive(t *testing.T, shown []map[string]any, stage ...map[string]any) []byte {
	t.Helper()
	file, err := os.Open("../../engines/enginestest/samples/1cbs.cif.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	whole, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	entry, err := io.ReadAll(whole)
	if err != nil {
		t.Fatal(err)
	}
	return pack(t, document(t, "1cbs.cif", shown, stage...), map[string][]byte{"1cbs.cif": entry})
}

// pack is an archive of a document and its files.
func pack(t *testing.T, document []byte, files map[string][]byte) []byte {
	t.Helper()
	var packed bytes.Buffer
	if err := molviewspec.WriteArchive(&packed, document, files); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

// cartoon is 1CBS with its ligand, and the protein in one colour.
func cartoon(t *testing.T, colour string) []byte {
	t.Helper()
	return archive(t, []map[string]any{look("polymer", "cartoon", colour, nil), look("ligand", "ball_and_stick", "#cc3399", nil)},
		node("canvas", map[string]any{"background_color": "#ffffff"}))
}

// hanging is a scene that keeps a browser busy for minutes: a protein three thousand times.
func hanging(t *testing.T) []byte {
	t.Helper()
	var shown []map[string]any
	for i := range 3000 {
		place := []int{60 * (i % 15), 60 * (i / 15 % 15), -60 * (i / 225)}
		shown = append(shown, node("instance", map[string]any{"translation": place}))
	}
	return archive(t, append(shown, look("polymer", "cartoon", "#1a7f37", nil)))
}

func requestOf(account string, scene []byte) preview.Request {
	return preview.Request{AccountID: account, Scene: scene, Format: preview.FormatMVSX, WidthPixels: width, HeightPixels: height}
}

// share is the part of a picture's pixels that are as wanted.
func share(t *testing.T, content []byte, wanted func(color.NRGBA) bool) float64 {
	t.Helper()
	shown, err := png.Decode(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	if shown.Bounds() != image.Rect(0, 0, width, height) {
		t.Fatalf("the picture is %v", shown.Bounds())
	}
	found := 0
	for y := range height {
		for x := range width {
			if pixel, ok := color.NRGBAModel.Convert(shown.At(x, y)).(color.NRGBA); ok && wanted(pixel) {
				found++
			}
		}
	}
	return float64(found) / (width * height)
}

func green(c color.NRGBA) bool  { return int(c.G) > int(c.R)+20 && int(c.G) > int(c.B)+20 }
func blue(c color.NRGBA) bool   { return int(c.B) > int(c.R)+20 && int(c.B) > int(c.G)+20 }
func unseen(c color.NRGBA) bool { return c.A == 0 }
func white(c color.NRGBA) bool  { return c.R > 250 && c.G > 250 && c.B > 250 && c.A == 255 }

// folder is a directory of renderers. Its path is short, because Chromium opens a socket below it.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "p-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "r")
}

// pooled is a pool of a test, which ends with it.
type pooled struct {
	*pool
	*testing.T
}

func newPool(t *testing.T, r *sandbox.Runner, keep int) pooled {
	t.Helper()
	p, err := openPool(context.Background(), Config{Runner: r, Keep: keep, Log: slog.New(slog.DiscardHandler)}, folder(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.close)
	return pooled{p, t}
}

// take waits for a renderer that can draw for an account.
func (p pooled) take(account string) *renderer {
	p.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		changed := p.changes()
		if r := p.pool.take(account); r != nil {
			return r
		}
		select {
		case <-changed:
		case <-deadline.C:
			p.Fatal("no renderer gets ready")
		}
	}
}

// draw has a scene drawn for an account, and returns the renderer that has done it and is ready again.
func (p pooled) draw(account string, scene []byte) ([]byte, *renderer) {
	p.Helper()
	r := p.take(account)
	content, err := r.draw(p.Context(), requestOf(account, scene), drawLimit)
	if err != nil {
		p.Fatal(err)
	}
	clean := r.settle(p.Context())
	p.give(r, clean)
	if !clean {
		p.Error("the renderer is not ready for another scene")
	}
	return content, r
}

// refused has a scene drawn that cannot be, and returns what its maker reads. Its renderer ends.
func (p pooled) refused(request preview.Request, limit time.Duration) string {
	p.Helper()
	r := p.take(request.AccountID)
	content, err := r.draw(p.Context(), request, limit)
	p.give(r, false)
	p.ended(r)
	var refused *preview.RefusedError
	if !errors.As(err, &refused) {
		p.Fatalf("got %d bytes and %v, want a refusal", len(content), err)
	}
	p.Log(err)
	return refused.Message
}

// ended waits for the end of a renderer.
func (p pooled) ended(r *renderer) {
	p.Helper()
	select {
	case <-r.done:
	case <-time.After(patience):
		p.Fatal("a renderer does not end")
	}
	if _, err := os.Stat(string(r.dir)); !errors.Is(err, os.ErrNotExist) {
		p.Errorf("its directory is left: %v", err)
	}
}

// TestPreviews has a worker draw for callers, from its start to its end.
func TestPreviews(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	rdb, _, prefix := redistest.New(t)
	log := slog.New(slog.DiscardHandler)
	client := preview.NewClient(rdb, prefix, nil, log)
	var unavailable *preview.UnavailableError
	if _, err := client.Draw(t.Context(), requestOf("acc_one", cartoon(t, "#1a7f37"))); !errors.As(err, &unavailable) {
		t.Errorf("before there is a worker: %v", err)
	}
	service := New(Config{Desk: preview.NewDesk(rdb, prefix), Runner: r, Keep: 1, DrawLimit: drawLimit, Log: log})
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	dir := folder(t)
	running.Go(func() { service.Run(ctx, "wrk_one", dir) })
	t.Cleanup(running.Wait)
	t.Cleanup(stop)
	awaitWarm(t, client)
	for _, c := range []struct {
		account, colour string
		transparent     bool
		want            func(color.NRGBA) bool
		behind          func(color.NRGBA) bool
	}{
		{"acc_one", "#1a7f37", false, green, white}, {"acc_one", "#2222ff", true, blue, unseen}, {"acc_two", "#1a7f37", false, green, white},
		{"acc_one", "#2222ff", false, blue, white},
	} {
		request := requestOf(c.account, cartoon(t, c.colour))
		request.Transparent = c.transparent
		content := drawn(t, client, request)
		if part, rest := share(t, content, c.want), share(t, content, c.behind); part < 0.02 || rest < 0.3 {
			t.Errorf("%s: %.1f %% of the picture have the scene's colour, %.1f %% the background's", c.account, 100*part, 100*rest)
		}
	}
	before := below(t, dir)
	if len(browsersOf(before)) == 0 {
		t.Errorf("no browser is among %v", before)
	}
	stop()
	running.Wait()
	if _, err := client.Draw(t.Context(), requestOf("acc_one", cartoon(t, "#1a7f37"))); !errors.As(err, &unavailable) {
		t.Errorf("when the worker has gone: %v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory of its renderers is left: %v", err)
	}
	after := processes(t)
	for pid, one := range before {
		if after[pid].started == one.started {
			t.Errorf("the process %d, %s, is left", pid, one.name)
		}
	}
}

// awaitWarm waits until a renderer is warm.
func awaitWarm(t *testing.T, client *preview.Client) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		n, err := client.Warm(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if n > 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("no renderer gets warm")
		}
	}
}

// drawn asks for a preview until somebody draws it.
func drawn(t *testing.T, client *preview.Client, request preview.Request) []byte {
	t.Helper()
	for deadline := time.Now().Add(patience); ; {
		content, err := client.Draw(t.Context(), request)
		var unavailable *preview.UnavailableError
		switch {
		case err == nil:
			return content
		case !errors.As(err, &unavailable) || time.Now().After(deadline):
			t.Fatal(err)
		}
	}
}

// TestNothingOfAnotherSceneIsSeen: what was drawn before does not show, to the pixel, and another account has another process, in
// which nobody's scene was before.
func TestNothingOfAnotherSceneIsSeen(t *testing.T) {
	t.Parallel()
	p := newPool(t, newRunner(t), 1)
	plain := cartoon(t, "#1a7f37")
	busy := archive(t, []map[string]any{
		look("polymer", "surface", "#ff0000", nil, node("opacity", map[string]any{"opacity": 0.5}),
			node("clip", map[string]any{"type": "plane", "normal": []int{0, 0, 1}, "point": []int{16, 20, 30}})),
		look("ligand", "spacefill", "#ffff00", nil),
		node("component", map[string]any{"selector": "ligand"}, node("label", map[string]any{"text": "another scene"})),
	}, node("camera", map[string]any{"position": []int{60, 60, 60}, "target": []int{16, 20, 27}, "up": []int{1, 0, 0}}),
		map[string]any{"kind": "canvas", "params": map[string]any{"background_color": "#000000"}, "custom": map[string]any{
			"molstar_postprocessing": map[string]any{"enable_outline": true, "enable_shadow": true, "enable_fog": true}}})
	first, one := p.draw("acc_one", plain)
	if part := share(t, first, green); part < 0.02 {
		t.Errorf("%.1f %% of the picture have the scene's colour", 100*part)
	}
	other, same := p.draw("acc_one", busy)
	if same != one || bytes.Equal(first, other) {
		t.Errorf("an account's renderer is not kept, or draws what it has drawn before")
	}
	for _, name := range []string{warm.SceneFile, filepath.Join("out", warm.PictureFile)} {
		if _, err := os.Stat(filepath.Join(string(one.dir), name)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("a file of the last scene is left: %v", err)
		}
	}
	if again, _ := p.draw("acc_one", plain); !bytes.Equal(first, again) {
		t.Error("a scene is drawn differently after another one")
	}
	content, two := p.draw("acc_two", plain)
	if two == one || two.dir == one.dir {
		t.Error("another account has the same renderer")
	}
	if !bytes.Equal(first, content) {
		t.Error("a scene is drawn differently by another renderer")
	}
	p.ended(one) // to make room for a spare one
	p.take("acc_three")
}

// TestScenesThatReachOut runs where nothing but the page itself keeps it from the machine's network.
func TestScenesThatReachOut(t *testing.T) {
	t.Parallel()
	newRunner(t)
	open, err := sandbox.New(t.Context(), sandbox.Config{Isolation: sandbox.Direct,
		Programs: map[string]string{"python": os.Getenv("MOLFABRIC_PYTHON")}})
	if err != nil {
		t.Fatal(err)
	}
	p := newPool(t, open, 1)
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer server.Close()
	address := server.URL + "/1cbs.cif"
	shown := []map[string]any{look("polymer", "cartoon", "#1a7f37", nil)}
	packed := pack(t, document(t, address, shown), map[string][]byte{"1cbs.cif": []byte("data_1CBS")})
	alone := requestOf("acc_one", document(t, address, shown))
	alone.Format = preview.FormatMVSJ
	file := requestOf("acc_one", document(t, "file:///etc/passwd", shown))
	file.Format = preview.FormatMVSJ
	for name, request := range map[string]preview.Request{"a document": alone, "an archive": requestOf("acc_one", packed),
		"a file": file} {
		if told := p.refused(request, drawLimit); !strings.Contains(told, "no file of the job") {
			t.Errorf("%s: %s", name, told)
		}
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("the server was asked %d times", n)
	}
}

// TestScenesThatCannotBeDrawn: each ends its renderer, and the next one draws.
func TestScenesThatCannotBeDrawn(t *testing.T) {
	t.Parallel()
	p := newPool(t, newRunner(t), 1)
	if told := p.refused(requestOf("acc_one", []byte("this is no archive")), drawLimit); !strings.Contains(told, "archive") {
		t.Error(told)
	}
	if told := p.refused(requestOf("acc_one", hanging(t)), 3*time.Second); !strings.Contains(told, "within 3s") {
		t.Error(told)
	}
	r := p.take("acc_one")
	browsers := browsersOf(below(t, string(r.dir)+"/"))
	if len(browsers) == 0 {
		t.Fatal("there is no browser to kill")
	}
	for _, pid := range browsers {
		_ = syscall.Kill(pid, syscall.SIGKILL) // one may have ended with another
	}
	_, err := r.draw(t.Context(), requestOf("acc_one", cartoon(t, "#1a7f37")), drawLimit)
	p.give(r, false)
	var refused *preview.RefusedError
	if !errors.As(err, &refused) {
		t.Errorf("of a browser that was killed: %v", err)
	}
	if content, _ := p.draw("acc_one", cartoon(t, "#1a7f37")); share(t, content, green) < 0.02 {
		t.Error("the next scene is not seen")
	}
}

// TestRenderersRetire: one that its account has not used for long ends, and the spare one stays.
func TestRenderersRetire(t *testing.T) {
	t.Parallel()
	p := newPool(t, newRunner(t), 2)
	_, r := p.draw("acc_one", cartoon(t, "#1a7f37"))
	p.retire()
	if accounts, _ := p.open(); len(accounts) != 1 {
		t.Errorf("%q have a renderer", accounts)
	}
	p.mu.Lock()
	r.since = time.Now().Add(-2 * idleLimit)
	p.mu.Unlock()
	p.retire()
	p.ended(r)
	_, next := p.draw("acc_one", cartoon(t, "#1a7f37"))
	p.mu.Lock()
	next.drawn = maxScenes - 1
	p.mu.Unlock()
	p.draw("acc_one", cartoon(t, "#1a7f37"))
	p.ended(next)
}
