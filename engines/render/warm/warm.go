// Package warm describes a renderer that stays: the viewer's browser that draws one scene after the other, each of them warm, which
// takes a second where the first picture of a fresh one takes ten. Command starts it, Order is what it is told on standard input,
// and Reply what it says on standard output. The package starts nothing; worker/previews does.
package warm

import (
	"embed"
	"encoding/json"
	"fmt"
	"time"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/python"
	"github.com/molfabric/molfabric/engines/render/viewer"
)

//go:embed stay.py
var programs embed.FS

const program = "stay.py"

// Files in the directory of a renderer.
const (
	SceneFile   = "in/scene"    // what an order is about
	PictureFile = "picture.png" // what it leaves, below out/
)

const (
	threads = 2 // of Mesa's software rasteriser, in a renderer
	// Chromium has 125 threads here, and more on machines of more cores.
	processes = 600
	// fileBytes bounds a file of Chromium's shared memory, through which pictures go.
	fileBytes   = 1 << 30
	maxLogBytes = 1 << 20
)

var (
	// Needs are the caps of a renderer, from its start to its end. After some previews of 1CBS it takes about 1 GB; a scene of the
	// largest size takes 40 times its bytes when it is parsed and meshed. Whatever leaks in a browser has an end.
	Needs = engines.Resources{CPUs: threads, MemoryBytes: 3 << 30, ReservedBytes: viewer.ReservedBytes, FileBytes: fileBytes,
		ScratchBytes: 16 << 20, Processes: processes, MaxLogBytes: maxLogBytes, TimeLimit: 24 * time.Hour}
)

// needed are the parts of an installation.
var needed = []python.Needed{
	{Program: "chromium", WayOut: "Chromium is missing; install the system's package chromium"},
	{Program: "viewer", WayOut: "the page that draws is missing; run the set-up, which builds it into " + viewer.PageFolder +
		" of the scientific Python"},
	{Program: "pillow", WayOut: "the Python package pillow is missing; install it with pip into the scientific Python"},
}

// Probe finds what a renderer is made of.
func Probe() engines.Probe {
	return python.Probe(viewer.FindPrograms+"\nprint(json.dumps(found))", "",
		func(versions map[string]string) error { return python.Missing(versions, needed) })
}

// request is what the program is started with.
type request struct {
	Threads int     `json:"threads"`
	WarmUp  drawing `json:"warmUp"`
	Compile bool    `json:"compile"`
}

// drawing is what is drawn to get warm.
type drawing struct {
	Format string `json:"format"`
	States int    `json:"states"`
}

// Command starts a renderer.
func Command() (engines.Command, error) {
	return command(request{Threads: Needs.CPUs, WarmUp: drawing{States: enough}})
}

// Compile leaves the rasteriser's programs for what the Studio shows as out/shaders.tar. Set-up runs it once and gives what it
// left to every browser (browser.py): it draws scenes of ours alone, so nobody's molecules are in it. It keeps one core busy for a
// minute.
func Compile() (engines.Command, error) {
	return command(request{Threads: 1, WarmUp: drawing{States: len(warmUps)}, Compile: true})
}

func command(asked request) (engines.Command, error) {
	files, err := python.Lay(python.Source{Files: viewer.Programs}, python.Source{Files: programs})
	if err != nil {
		return engines.Command{}, fmt.Errorf("warm: %w", err)
	}
	asked.WarmUp.Format = "mvsx"
	if files[SceneFile], err = warmUpScene(asked.WarmUp.States); err != nil {
		return engines.Command{}, fmt.Errorf("warm: %w", err)
	}
	if files[python.RequestFile], err = json.Marshal(asked); err != nil {
		return engines.Command{}, fmt.Errorf("warm: %w", err)
	}
	return engines.Command{
		Argv:  []string{"python", "-B", python.Folder + "/" + program, "--request", python.RequestFile},
		Env:   python.Environment(nil),
		Files: files,
	}, nil
}

// Order has the scene drawn that lies in SceneFile. Numbers of orders count from 1.
type Order struct {
	Number       int    `json:"number"`
	Format       string `json:"format"` // mvsj or mvsx
	WidthPixels  int    `json:"widthPixels"`
	HeightPixels int    `json:"heightPixels"`
	Transparent  bool   `json:"transparent"`
}

// Line is the order as the renderer reads it.
func (o Order) Line() ([]byte, error) {
	line, err := json.Marshal(o)
	return append(line, '\n'), err
}

// Reply is one thing that a renderer says: that it is ready, or what became of the order with the number in Drawn, Cleared or
// Failed.
type Reply struct {
	Ready    bool   `json:"ready"`
	Renderer string `json:"renderer"` // what draws, as WebGL names it

	Drawn   int `json:"drawn"`   // the picture lies in PictureFile
	Cleared int `json:"cleared"` // nothing of the scene is left: it may be given the next one

	Failed  int                  `json:"failed"` // it ends by itself
	Class   engines.FailureClass `json:"class"`
	Code    string               `json:"code"`
	Message string               `json:"message"`
}

// ParseReply reads a line of standard output; ok is false for one that is no reply.
func ParseReply(line string) (reply Reply, ok bool) {
	err := json.Unmarshal([]byte(line), &reply)
	return reply, err == nil && (reply.Ready || reply.Drawn > 0 || reply.Cleared > 0 || reply.Failed > 0)
}
