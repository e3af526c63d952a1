package sandbox

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/molfabric/molfabric/engines"
)

// renderNeeds are those of a task that renders: Chromium has some hundred threads, and each counts as a process.
var renderNeeds = engines.Resources{CPUs: 2, MemoryBytes: 4 << 30, FileBytes: 1 << 30, Processes: 400, TimeLimit: 2 * time.Minute,
	MaxLogBytes: 1 << 20}

// machineModes are those that run the machine's own programs.
func machineModes() []mode {
	return slices.DeleteFunc(slices.Clone(modes), func(m mode) bool { return m.cfg.Isolation == Container })
}

// chromium is the program itself: Debian's script of that name on the PATH reads files in /etc that the sandbox does not show.
const chromium = "/usr/lib/chromium/chromium"

// chromiumArgs draw with Mesa, without a window. Chromium's own sandbox needs namespaces, which ours does not let it make.
var chromiumArgs = []string{"--headless", "--no-sandbox", "--no-zygote", "--use-gl=angle", "--use-angle=gl-egl",
	"--ignore-gpu-blocklist", "--disable-background-networking", "--disable-component-update", "--disable-breakpad",
	"--disable-dev-shm-usage", "--no-first-run",
	"--log-level=3", "--dump-dom"}

// fontsFile says where fonts are: the sandbox shows no /etc/fonts.
const fontsFile = `<fontconfig><dir>/usr/share/fonts</dir>
<alias binding="same"><family>sans-serif</family><prefer><family>Liberation Sans</family></prefer></alias>
<alias binding="same"><family>monospace</family><prefer><family>Liberation Mono</family></prefer></alias></fontconfig>`

// page draws into a texture as large as a 4K picture, writes, and asks a server; what came of it is in the page when it has loaded.
const page = `<!doctype html><pre></pre><script>
const lines = [];
const attempt = (name, f) => { try { lines.push(name + ': ' + f()); } catch (error) { lines.push(name + ': ' + error.name); } };
attempt('drawn', () => {
  const gl = document.createElement('canvas').getContext('webgl2');
  gl.getExtension('EXT_color_buffer_float');
  gl.bindTexture(gl.TEXTURE_2D, gl.createTexture());
  gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA32F, 3840, 2160, 0, gl.RGBA, gl.FLOAT, null);
  gl.bindFramebuffer(gl.FRAMEBUFFER, gl.createFramebuffer());
  gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, gl.getParameter(gl.TEXTURE_BINDING_2D), 0);
  gl.clearColor(7, 0.5, 0, 1);
  gl.clear(gl.COLOR_BUFFER_BIT);
  const pixel = new Float32Array(4);
  gl.readPixels(3839, 2159, 1, 1, gl.RGBA, gl.FLOAT, pixel);
  return pixel.join(' ');
});
attempt('memory', () => Array.from({length: 5}, () => new Uint8Array(1e8).fill(1)).length);
attempt('fonts', () => {
  const width = family => { const context = document.createElement('canvas').getContext('2d'); context.font = '20px ' + family; return context.measureText('ill').width; };
  return width('sans-serif') < width('monospace');
});
attempt('server', () => { const request = new XMLHttpRequest(); request.open('GET', 'SERVER', false); request.send(); return request.responseText; });
document.querySelector('pre').textContent = lines.join('\n');
</script>`

// TestChromiumRuns opens a page that needs what the scenes of the rendering engines need, in every mode. The same page reaches
// the server where nothing isolates it, so that it is the sandbox which keeps it from there.
func TestChromiumRuns(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat(chromium); err != nil {
		missing(t, "chromium: %v", err)
	}
	for _, mode := range machineModes() {
		t.Run(mode.name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				asked.Add(1)
				w.Header().Set("Access-Control-Allow-Origin", "*")
				_, _ = w.Write([]byte("reached"))
			}))
			defer server.Close()
			spec := shellSpec(t,
				`export FONTCONFIG_FILE="$PWD/fonts.conf"; exec "$@" --user-data-dir="$(mktemp -d)" "file://$PWD/page.html"`)
			spec.Needs = renderNeeds
			spec.Command.Argv = slices.Concat(spec.Command.Argv, []string{"sh", chromium}, chromiumArgs)
			spec.Command.Env = map[string]string{"LP_NUM_THREADS": "2"}
			spec.Command.Files = map[string][]byte{"page.html": []byte(strings.Replace(page, "SERVER", server.URL, 1)),
				"fonts.conf": []byte(fontsFile)}
			got := mustRun(t, newRunner(t, mode.cfg), spec)
			expect(t, got, Exited, 0)
			want, requests := "drawn: 7 0.5 0 1\nmemory: 5\nfonts: true\nserver: NetworkError", int64(0)
			if mode.cfg.Isolation == Direct {
				want, requests = strings.Replace(want, "NetworkError", "reached", 1), 1
			}
			if !strings.Contains(got.LogTail, "<pre>"+want+"</pre>") || asked.Load() != requests {
				t.Errorf("%d requests, want %d; want %q in the page: %s", asked.Load(), requests, want, got.LogTail)
			}
		})
	}
}

// blenderImport finds Blender's module where set-up has put it: apart from the numpy of the other engines.
const blenderImport = `import os, sys
sys.path.insert(0, os.path.join(sys.prefix, "share", "molfabric", "blender"))
import bpy`

// blenderProgram renders with Cycles, lets Open Image Denoise take the noise away, and writes both kinds of pictures.
const blenderProgram = blenderImport + `
bpy.ops.wm.read_factory_settings()
scene = bpy.context.scene
scene.render.engine = "CYCLES"
scene.cycles.samples, scene.cycles.use_denoising, scene.cycles.denoiser = 2, True, "OPENIMAGEDENOISE"
scene.render.resolution_x, scene.render.resolution_y = 160, 90
scene.render.threads_mode, scene.render.threads = "FIXED", 2
scene.render.use_file_extension = False
for name in ("PNG", "OPEN_EXR"):
    scene.render.image_settings.file_format = name
    scene.render.filepath = os.path.abspath("out/" + name)
    bpy.ops.render.render(write_still=True)
`

func TestBlenderRuns(t *testing.T) {
	t.Parallel()
	cfg := python(t)
	if out, err := exec.Command(cfg.Programs["python"], "-c", blenderImport).CombinedOutput(); err != nil {
		missing(t, "bpy: %v: %s", err, out)
	}
	for _, mode := range machineModes() {
		t.Run(mode.name, func(t *testing.T) {
			t.Parallel()
			cfg := cfg
			cfg.Isolation, cfg.Limits = mode.cfg.Isolation, mode.cfg.Limits
			spec := shellSpec(t, "")
			spec.Needs = renderNeeds
			spec.Command = engines.Command{Argv: []string{"python", "render.py"},
				Files: map[string][]byte{"render.py": []byte(blenderProgram)}}
			got := mustRun(t, newRunner(t, cfg), spec)
			expect(t, got, Exited, 0)
			for name, magic := range map[string]string{"PNG": "\x89PNG", "OPEN_EXR": "v/1\x01"} {
				if picture, err := os.ReadFile(filepath.Join(string(spec.Dir), outName, name)); err != nil ||
					!strings.HasPrefix(string(picture), magic) {
					t.Errorf("%s: %v, %.8q; log: %s", name, err, picture, got.LogTail)
				}
			}
		})
	}
}
