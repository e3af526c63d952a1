package tracer_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines/enginestest"
	"github.com/molfabric/molfabric/engines/render/tracer"
	"github.com/molfabric/molfabric/engines/render/viewer"
	"github.com/molfabric/molfabric/engines/render/viewer/viewertest"
)

// stageMaker writes stages of balls, as the viewer's export would: whatever a picture of balls must look like can be calculated.
const stageMaker = `import io, json, math, random, struct, sys, tarfile
from pathlib import Path
import numpy as np
from PIL import Image

WIDTH, HEIGHT = 320, 180
MOVE = (-5.0, 2.0, -1.0)  # from the scene's coordinates to the model's

def ball(center, radius, color, opacity=1.0, rings=48):
    """Vertices, normals, colours as Mol* stores them (linear, cut off to bytes), and triangles."""
    polar, around = np.meshgrid(np.linspace(0, np.pi, rings + 1), np.linspace(0, 2 * np.pi, 2 * rings, endpoint=False), indexing="ij")
    normals = np.stack((np.sin(polar) * np.cos(around), np.cos(polar), np.sin(polar) * np.sin(around)), -1).reshape(-1, 3)
    ring, next_ = np.divmod(np.arange(rings * 2 * rings), 2 * rings)
    a, b = ring * 2 * rings + next_, ring * 2 * rings + (next_ + 1) % (2 * rings)
    faces = np.concatenate((np.stack((a, b, a + 2 * rings), -1), np.stack((b, b + 2 * rings, a + 2 * rings), -1)))
    linear = [int((c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4) * 255) for c in (int(color[i : i + 2], 16) / 255 for i in (1, 3, 5))]
    colors = np.tile(np.array([*linear, round(opacity * 255)], np.uint8), (len(normals), 1))
    return np.array(center) + np.array(MOVE) + radius * normals, normals, colors, faces

def glb(balls):
    binary, views, accessors, meshes, nodes = b"", [], [], [], []
    for vertices, normals, colors, faces in balls:
        first = len(accessors)
        arrays = (vertices.astype("<f4"), 5126, "VEC3"), (normals.astype("<f4"), 5126, "VEC3"), (colors, 5121, "VEC4"), (faces.astype("<u4").reshape(-1, 1), 5125, "SCALAR")
        for array, component, kind in arrays:
            views.append({"buffer": 0, "byteOffset": len(binary), "byteLength": array.nbytes})
            accessors.append({"bufferView": len(views) - 1, "byteOffset": 0, "componentType": component, "count": len(array), "type": kind})
            binary += array.tobytes()
        attributes = {"POSITION": first, "NORMAL": first + 1, "COLOR_0": first + 2}
        meshes.append({"primitives": [{"attributes": attributes, "indices": first + 3, "mode": 4}]})
        nodes.append({"mesh": len(meshes) - 1, "name": f"ball-{len(nodes)}", "matrix": np.eye(4).ravel().tolist()})
    document = json.dumps({"asset": {"version": "2.0"}, "nodes": nodes, "meshes": meshes, "accessors": accessors, "bufferViews": views}).encode()
    document += b" " * (-len(document) % 4)
    body = struct.pack("<II", len(document), 0x4E4F534A) + document + struct.pack("<II", len(binary), 0x004E4942) + binary
    return b"glTF" + struct.pack("<II", 2, 12 + len(body)) + body

def camera(mode="perspective", position=(25.0, 9.0, 40.0)):
    return {"position": list(position), "target": [5.0, -2.0, 1.0], "up": [0.1, 1.0, 0.0], "fovYRadians": 0.7, "mode": mode, "near": 1.0, "far": 200.0}

def frame(number, model="model-0.glb", view=None, labels=None):
    return {"frame": number, "model": model, "translation": list(MOVE), "camera": view or camera(), "labels": labels}

def write_stage(path, frames, models, parts=(), background="#ffffee", labels=None):
    document = {"schema": "molfabric.stage/v1", "widthPixels": WIDTH, "heightPixels": HEIGHT, "background": background, "transparent": False, "frames": frames, "representations": list(parts)}
    with tarfile.open(path, "w") as archive:
        for name, content in {"stage.json": json.dumps(document).encode(), **models, **(labels or {})}.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))

def part(node, type_, component, opacity=1.0):
    return {"mesh": f"ball-{node}", "type": type_, "component": component, "opacity": opacity}

def png(color):
    overlay = Image.new("RGBA", (WIDTH, HEIGHT))
    overlay.paste(color, (0, 0, 20, 10))
    file = io.BytesIO()
    overlay.save(file, "PNG")
    return file.getvalue()
`

// renderBalls is held against a tracer of a few lines, which knows nothing of Blender or of its axes.
const renderBalls = stageMaker + `
import bpy, molecule
folder = Path(sys.argv[1])

def render(frame, name, **options):
    molecule.show(frame)
    path = folder / name
    bpy.context.scene.render.filepath = str(path)
    bpy.ops.render.render(write_still=True)
    molecule.compose(frame, path)
    return np.array(Image.open(path)).astype(int) if path.suffix != ".exr" else path

def expected(view, balls):
    """Where a ray of the camera through the middle of a pixel meets a ball: booleans of the picture's shape."""
    position, target, up = (np.array(view[name]) for name in ("position", "target", "up"))
    ahead = (target - position) / np.linalg.norm(target - position)
    right = np.cross(ahead, up) / np.linalg.norm(np.cross(ahead, up))
    half = math.tan(view["fovYRadians"] / 2)
    x, y = np.meshgrid((np.arange(WIDTH) + 0.5 - WIDTH / 2) / (HEIGHT / 2), -(np.arange(HEIGHT) + 0.5 - HEIGHT / 2) / (HEIGHT / 2))
    across = half * (x[..., None] * right + y[..., None] * np.cross(right, ahead))
    seen = np.zeros((HEIGHT, WIDTH), bool)
    for center, radius in balls:
        if view["mode"] == "orthographic":
            start, way = position + across * np.linalg.norm(target - position), np.broadcast_to(ahead, across.shape)
        else:
            start, way = np.broadcast_to(position, across.shape), ahead + across
        way = way / np.linalg.norm(way, axis=-1, keepdims=True)
        away = np.array(center) - start
        seen |= (away**2).sum(-1) - (away * way).sum(-1) ** 2 < radius**2
    return seen

balls = [((0.0, 0.0, 0.0), 6.0), ((14.0, -5.0, 4.0), 3.0), ((6.0, 9.0, -20.0), 4.0)]
colors = ["#6688ff", "#cc3399", "#008000"]
model = glb([ball(*one, color) for one, color in zip(balls, colors)])
inside = glb([ball((5, -2, 1), 4, "#cc3399"), ball((5, -2, 1), 10, "#b8c8e0", 0.25)])
parts = [part(0, "cartoon", "polymer"), part(1, "ball-and-stick", "ligand"), part(2, "spacefill", "polymer")]
views = {"perspective": camera(), "orthographic": camera("orthographic")}
frames = [frame(1), frame(2, view=views["orthographic"]), frame(3, "model-1.glb", labels="labels-0003.png")]
write_stage(folder / "stage.tar", frames, {"model-0.glb": model, "model-1.glb": inside}, parts, labels={"labels-0003.png": png((255, 0, 0, 255))})
background = np.array((255, 255, 238))

molecule.build(folder / "stage.tar", {"samples": 16, "threads": 2, "format": "PNG"})
for number, (mode, view) in enumerate(views.items(), start=1):
    picture = render(number, f"{mode}.png")
    # A pixel is the ball's where more than about half of it is: the edges are smoothed.
    found, want = np.abs(picture - background).max(-1) > 90, expected(view, balls)
    overlap = (found & want).sum() / (found | want).sum()
    print("overlap", mode, round(float(overlap), 3))
    assert overlap > 0.97, overlap
    assert all((picture[y, x] == background).all() for y in (0, -1) for x in (0, -1)), "the background is another colour"

picture = render(1, "colors.png")
for one, color in zip(balls, colors):
    lit = picture[expected(views["perspective"], [one]) & (picture != background).any(-1)]
    want = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)])
    nearest = np.abs(lit - want).max(-1)
    print("colour", color, "nearest", nearest.min(), "within 40:", round(float((nearest < 40).mean()), 2))
    assert nearest.min() < 24 and (nearest < 40).mean() > 0.3, "the colour of a ball is not the one chosen"
    assert (lit.min(-1) > 250).mean() < 0.01 and (lit.max(-1) < 30).mean() < 0.002, f"light is blown out, or shadows are black: {(lit.min(-1) > 250).mean()} {(lit.max(-1) < 30).mean()}"

shell = render(3, "shell.png")
middle, beside = shell[HEIGHT // 2, WIDTH // 2], shell[HEIGHT // 2, WIDTH // 2 + 38]
assert middle[0] > middle[1] + 60, f"what is inside the shell does not show: {middle}"
assert 8 < np.abs(beside - background).max() < 110, f"the shell is not see-through: {beside}"
assert (shell[5, 5] == (255, 0, 0)).all() and (shell[15, 5] == background).all(), "the labels are not where they belong"
assert len([thing for thing in bpy.data.objects if thing.type == "MESH"]) == len(bpy.data.meshes) == 2, "the model before was not freed"
found = molecule.summary()
assert found["models"] == 2 and found["materials"] == ["glass", "glossy", "matte", "satin"] and not found["warnings"], found

molecule.build(folder / "stage.tar", {"samples": 16, "threads": 2, "format": "PNG", "transparent": True, "widthPixels": WIDTH, "heightPixels": HEIGHT})
clear = render(3, "clear.png")
assert (clear[-1, -1] == 0).all() and clear[HEIGHT // 2, WIDTH // 2, 3] == 255, "opacity"
grain = clear[HEIGHT // 2 - 8 : HEIGHT // 2 + 8, WIDTH // 2 + 34 : WIDTH // 2 + 40, 3]
print("opacity beside", grain.mean(), grain.std())
assert 50 < grain.mean() < 100 and grain.std() < 6, "the opacity of the shell is noisy, or not the scene's"
assert (clear[5, 5] == (255, 0, 0, 255)).all()

molecule.build(folder / "stage.tar", {"samples": 4, "threads": 2, "format": "EXR"})
content = render(3, "light.exr").read_bytes()
assert content[:4] == b"v/1\x01" and "labels" in molecule.summary()["warnings"][0]
print("balls are right")`

// damage gives the readers of the stage and of its models what a broken or hostile export could be: each must end in a StageError.
const damage = stageMaker + `
from molecule_glb import Model
from molecule_stage import Stage, StageError

folder, chance = Path(sys.argv[1]), random.Random(1)
model = glb([ball((0, 0, 0), 1, "#6688ff", rings=3)])
write_stage(folder / "good.tar", [frame(1)], {"model-0.glb": model}, [part(0, "cartoon", "polymer")])
good = (folder / "good.tar").read_bytes()
scraps = [b"nan", b"1e999", b"-1", b"99999999", b"null", b"[]", b"{}", b'"', b"\0", b"\xff\xfe"]

def damaged(content):
    content = bytearray(content)
    for _ in range(chance.choice((1, 1, 2, 20))):
        place = chance.randrange(min(len(content), 3000))
        if chance.random() < 0.5:
            content[place] = chance.randrange(256)
        else:
            scrap = chance.choice(scraps)
            content[place : place + len(scrap)] = scrap
    return bytes(content[: chance.randrange(len(content))] if chance.random() < 0.1 else content)

refused = 0
for _ in range(600):
    path = folder / "bad.tar"
    path.write_bytes(damaged(good))
    try:
        Stage(path).model("model-0.glb")
    except StageError:
        refused += 1
    try:
        for mesh in Model(damaged(model)).meshes.values():
            assert mesh.faces.min() >= 0 and mesh.faces.max() < len(mesh.vertices)
            assert np.isfinite(mesh.vertices).all() and np.isfinite(mesh.colors).all()
    except StageError:
        refused += 1
assert refused > 300, refused

for name, change in {
    "frames": {"frames": []},
    "model": {"frames": [frame(1, model="../model-0.glb")]},
    "camera's mode": {"frames": [frame(1, view={**camera(), "mode": "fisheye"})]},
    "position": {"frames": [frame(1, view={**camera(), "position": [0, 0, 1e99]})]},
    "own position": {"frames": [frame(1, view={**camera(), "position": camera()["target"]})]},
    "background": {"background": "white"},
    "fog": {"frames": [frame(1, view={**camera(), "fog": {"near": 1, "far": None}})]},
    "clip": {"parts": [{**part(0, "cartoon", "polymer"), "clip": [{"type": "plane", "position": [0, 0]}]}]},
    "rotation": {"parts": [{**part(0, "cartoon", "polymer"), "clip": [{"type": "plane", "position": [0, 0, 0], "rotation": [0, 1e99, 0, 0]}]}]},
}.items():
    frames, parts = change.get("frames", [frame(1)]), change.get("parts", [])
    write_stage(folder / "wrong.tar", frames, {"model-0.glb": model}, parts, background=change.get("background", "#ffffff"))
    try:
        Stage(folder / "wrong.tar")
        raise AssertionError(f"a wrong {name} passes")
    except StageError as error:
        assert name in str(error), error
print("refused", refused)`

// TestRayTracedBalls renders balls and finds each where the viewer's camera says, in its own colour, over the exact background.
func TestRayTracedBalls(t *testing.T) {
	t.Parallel()
	runScript(t, renderBalls, "balls are right")
}

// TestDamagedStages mutates the exported stage and its models.
func TestDamagedStages(t *testing.T) {
	t.Parallel()
	runScript(t, damage, "refused")
}

// holdTiers renders the stage of a job's folder and holds it against the raster tier's picture of the same scene, both without
// background.
const holdTiers = `import sys
from pathlib import Path
import bpy
import numpy as np
from PIL import Image
import molecule

folder = Path(sys.argv[1])
molecule.build(folder / "out/stage.tar", {"samples": 16, "threads": 2, "transparent": True})
molecule.show(1)
bpy.context.scene.render.filepath = str(folder / "traced.png")
bpy.ops.render.render(write_still=True)
raster, traced = (np.array(Image.open(folder / name)).astype(int) for name in ("out/frame_0001.png", "traced.png"))
assert raster.shape == traced.shape and raster.shape[2] == 4, (raster.shape, traced.shape)
one, other = (picture[..., 3] > 127 for picture in (raster, traced))
overlap = (one & other).sum() / (one | other).sum()
inside = one & other
differences = np.abs(np.median(raster[inside][:, :3], axis=0) - np.median(traced[inside][:, :3], axis=0))
print("tiers overlap", round(float(overlap), 4), "of", int(one.sum()), "pixels; median colours differ by", differences)
assert one.mean() > 0.02 and overlap > 0.97, overlap
assert differences.max() < 50, differences`

// TestTiersOverlap holds the two tiers of one scene against each other: the same silhouette, and much the same colours.
func TestTiersOverlap(t *testing.T) {
	t.Parallel()
	python := enginestest.Python(t)
	page := filepath.Join(prefix(python), viewer.PageFolder)
	if _, err := os.Stat(page); err != nil {
		enginestest.Skip(t, "build the viewer's page (engines/render/viewer/build.sh)")
	}
	folder := t.TempDir()
	structure, err := os.ReadFile("../../openmm/testdata/two-peptides.pdb")
	if err != nil {
		t.Fatal(err)
	}
	writeInto(t, filepath.Join(folder, "in", "scene.pdb"), structure)
	for _, program := range []string{"export.py", "render.py"} {
		writeInto(t, filepath.Join(folder, "request.json"), []byte(`{"program": "`+program+`", "scene": {"file": "in/scene.pdb", "format": "pdb", "references": {}},
			"frames": [1], "animation": {"kind": "none", "frames": 1, "fps": 24}, "film": {"video": null, "fps": 24}, "resumable": false, "threads": 2,
			"picture": {"widthPixels": 480, "heightPixels": 270, "format": "PNG", "transparent": true, "background": null, "outline": false, "ambientOcclusion": false}}`))
		runRaster(t, python, folder, program)
	}
	command := exec.CommandContext(t.Context(), python, "-B", "-c", holdTiers, folder)
	command.Env = blenderEnvironment(python)
	output, err := command.CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s", err, tail(string(output)))
	}
	t.Log(tail(string(output)))
}

// holdTurn renders frames of a turntable of something long, without denoising, and wants nothing of it at a picture's edge.
const holdTurn = `import json, sys, tarfile
from pathlib import Path
import bpy
import numpy as np
from PIL import Image
import molecule

folder = Path(sys.argv[1])
with tarfile.open(folder / "out/stage.tar") as archive:
    frames = json.load(archive.extractfile("stage.json"))["frames"]
distances = [float(np.linalg.norm(np.subtract(f["camera"]["position"], f["camera"]["target"]))) for f in frames]
assert np.ptp(distances) < 1e-3, f"the camera comes nearer and goes away: {distances}"
molecule.build(folder / "out/stage.tar", {"samples": 1, "threads": 2, "transparent": True, "denoise": False})
for frame in (1, 2, 3):
    molecule.show(frame)
    bpy.context.scene.render.filepath = str(folder / "turn.png")
    bpy.ops.render.render(write_still=True)
    alpha = np.array(Image.open(folder / "turn.png"))[..., 3]
    seen = alpha > 0
    print("frame", frame, "is seen in", round(float(seen.mean()), 3), "of the picture")
    assert seen.mean() > 0.005, "nothing is seen"
    assert not (seen[0].any() or seen[-1].any() or seen[:, 0].any() or seen[:, -1].any()), f"frame {frame} is cut off"
print("the turn is held")`

// TestTurnIsHeld traces a turntable of a helix that is ten times as long as it is wide.
func TestTurnIsHeld(t *testing.T) {
	t.Parallel()
	python := enginestest.Python(t)
	if _, err := os.Stat(filepath.Join(prefix(python), viewer.PageFolder)); err != nil {
		enginestest.Skip(t, "build the viewer's page (engines/render/viewer/build.sh)")
	}
	folder := t.TempDir()
	writeInto(t, filepath.Join(folder, "in", "scene.pdb"), []byte(viewertest.Helix(60)))
	writeInto(t, filepath.Join(folder, "request.json"), []byte(`{"scene": {"file": "in/scene.pdb", "format": "pdb", "references": {}}, "frames": [1, 2, 3],
		"animation": {"kind": "turntable", "frames": 8, "fps": 24}, "threads": 2, "picture": {"widthPixels": 160, "heightPixels": 90, "format": "PNG",
		"transparent": true, "background": null, "outline": false, "ambientOcclusion": false, "depthCue": false}}`))
	runRaster(t, python, folder, "export.py")
	command := exec.CommandContext(t.Context(), python, "-B", "-c", holdTurn, folder)
	command.Env = blenderEnvironment(python)
	output, err := command.CombinedOutput()
	if err != nil || !strings.Contains(string(output), "the turn is held") {
		t.Errorf("%v: %s", err, tail(string(output)))
	}
	t.Log(tail(string(output)))
}

// runRaster runs a program of the raster tier where it lies in the repository: no engine imports another.
func runRaster(t *testing.T, python, folder, program string) {
	t.Helper()
	folders := []string{"../../molstar/programs", "../viewer", "../film"}
	for _, place := range folders {
		path, err := filepath.Abs(filepath.Join(place, program))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(path); err != nil {
			continue
		}
		command := exec.CommandContext(t.Context(), python, "-B", path, "--request", "request.json")
		command.Dir = folder
		command.Env = enginestest.ProgramPath(t, folders...)
		if output, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", program, err, tail(string(output)))
		}
		return
	}
	t.Fatalf("there is no program %s", program)
}

// blenderEnvironment lets a script find the programs, and Blender's module where it lies in a folder of its own.
func blenderEnvironment(python string) []string {
	return append(os.Environ(), "PYTHONPATH=.:"+filepath.Join(prefix(python), tracer.BlenderFolder))
}

// prefix is the folder that a Python is installed in.
func prefix(python string) string { return filepath.Dir(filepath.Dir(python)) }

func writeInto(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

func runScript(t *testing.T, script, want string) {
	t.Helper()
	python := enginestest.Python(t)
	command := exec.CommandContext(t.Context(), python, "-B", "-c", script, t.TempDir())
	command.Env = blenderEnvironment(python)
	output, err := command.CombinedOutput()
	if err != nil || !strings.Contains(string(output), want) {
		t.Errorf("%v: %s", err, tail(string(output)))
	}
	t.Log(tail(string(output)))
}

// tail is the end of what a program printed: Blender tells of every frame.
func tail(text string) string {
	const most = 3000
	return text[max(0, len(text)-most):]
}
