package tracer_test

import "testing"

// cutBalls cuts balls by regions of every kind, and holds what is left against volumes that can be calculated: what is cut is solid
// again.
const cutBalls = stageMaker + `
import bpy
from molecule_clip import Clip, clipped, joined
from molecule_glb import Model

def volume(mesh):
    a, b, c = (mesh.vertices[mesh.faces[:, i]].astype(float) for i in range(3))
    return float((a * np.cross(b, c)).sum() / 6)

def region(kind, center, half, invert=False, turn=0.0, whole=False):
    axes = np.array(((math.cos(turn), -math.sin(turn), 0), (math.sin(turn), math.cos(turn), 0), (0, 0, 1.0)))
    return Clip(kind, invert, np.array(center, float), axes, np.array(half, float), whole)

def of(balls):
    """Balls as one mesh."""
    return joined(list(Model(glb(balls)).meshes.values()))

def wants(name, mesh, clips, want, closed=True):
    left = clipped(mesh, clips, closed)
    got = volume(left) if left else 0.0
    print(name, round(got, 2), "want", round(want, 2))
    assert abs(got - want) < 0.01 * whole, (name, got, want)
    return left

here = np.array(MOVE)  # balls of the scene stand there in the model
alone = of([ball((0, 0, 0), 5, "#cc3399")])
whole = volume(alone)
assert abs(whole - 4 / 3 * math.pi * 125) < 4, whole

half = wants("half", alone, [region("plane", here, (1, 1, 1))], whole / 2)
assert half.vertices[:, 1].max() < here[1] + 1e-3 and np.allclose(half.colors, alone.colors[0]), "more is left than the plane leaves, or in another colour"
wants("other half", alone, [region("plane", here, (1, 1, 1), invert=True, turn=0.7)], whole / 2)
wants("quarter", alone, [region("plane", here, (1, 1, 1)), region("plane", here, (1, 1, 1), turn=math.pi / 2)], whole / 4)
R, r, d = 5.0, 3.0, 5.0
lens = math.pi * (R + r - d) ** 2 * (d * d + 2 * d * r - 3 * r * r + 2 * d * R + 6 * r * R - 3 * R * R) / (12 * d)
wants("bitten by a sphere", alone, [region("sphere", here + (5, 0, 0), (3, 3, 3))], whole - lens)
wants("within a sphere", alone, [region("sphere", here + (0, 5, 0), (3, 3, 3), invert=True)], lens)
wants("within a box", alone, [region("box", here, (2, 2, 2), invert=True, turn=0.3)], 64)
inner = clipped(alone, [region("box", here + (3, 0, 0), (2, 3, 9), invert=True)], True)
wants("bitten by a box", alone, [region("box", here + (3, 0, 0), (2, 3, 9))], whole - volume(inner))
assert clipped(alone, [region("box", here, (9, 9, 9))], True) is None, "what is cut away whole leaves something"
assert clipped(alone, [region("sphere", here, (1, 1, 1), whole=True)], True) is None
assert clipped(alone, [region("sphere", here + (3, 0, 0), (1, 1, 1), whole=True)], True) is alone

# Two that touch make one face, and what is hollow stays so: the curve inside of a curve turns the other way.
both = of([ball((0, 0, 0), 5, "#cc3399"), ball((4, 0, 0), 5, "#cc3399")])
face = clipped(both, [region("plane", here, (1, 1, 1))], True)
flat = face.vertices[:, 1] > here[1] - 1e-3
area = sum(np.linalg.norm(np.cross(face.vertices[b] - face.vertices[a], face.vertices[c] - face.vertices[a])) / 2 for a, b, c in face.faces if flat[a] and flat[b] and flat[c])
together = 2 * math.pi * 25 - (2 * 25 * math.acos(2 / 5) - 2 * math.sqrt(100 - 16))
assert abs(area - together) < 0.02 * together, (area, together)
shell = ball((0, 0, 0), 3, "#cc3399")
hollow = of([ball((0, 0, 0), 5, "#cc3399"), (shell[0], -shell[1], shell[2], shell[3][:, ::-1])])
wants("hollow", hollow, [region("plane", here, (1, 1, 1))], volume(hollow) / 2)
print("cuts are right")`

// renderLook holds the light of pictures against each other: what a choice of the scene or of the request must change, and what it
// must not.
const renderLook = stageMaker + `
import bpy, molecule
folder = Path(sys.argv[1])
background = np.array((255, 255, 238))

def render(name, number=1, **options):
    molecule.build(folder / "stage.tar", {"samples": 12, "threads": 2, "format": "PNG", "widthPixels": 160, "heightPixels": 90, **options})
    molecule.show(number)
    bpy.context.scene.render.filepath = str(folder / name)
    bpy.ops.render.render(write_still=True)
    return np.array(Image.open(folder / name)).astype(int)

def straight(fog=None, **more):
    """A camera that looks along -z at the middle of the balls, its fog between two distances."""
    return {**camera(position=(0, 0, 60)), "target": [0, 0, 0], "up": [0, 1, 0], "fovYRadians": 0.5, "fog": fog and {"near": fog[0], "far": fog[1]}, **more}

plane = {"type": "plane", "invert": False, "position": [0, 0, 0], "rotation": [math.sin(math.pi / 4), 0, 0, math.cos(math.pi / 4)], "scale": [1, 1, 1], "transform": np.eye(4).ravel().tolist(), "whole": False}
balls = [ball((-7, 0, 0), 6, "#cc3399"), ball((5, 0, 0), 6, "#6688ff"), ball((16, 0, -30), 6, "#6688ff"), ball((5, 11, 0), 6, "#6688ff")]
models = {"model-0.glb": glb(balls)}
parts = [{**part(0, "spacefill", "polymer"), "clip": [plane]}, *(part(number, "spacefill", "polymer") for number in (1, 2, 3))]
frames = [{**frame(1, view=straight()), "occlusion": False}, {**frame(2, view=straight()), "occlusion": True}, {**frame(3, view=straight((55.0, 95.0))), "occlusion": False}]
write_stage(folder / "stage.tar", frames, models, parts)

plain = render("plain.png")
cut, beside, far, corner = plain[45, 59], plain[45, 95], plain[45, 118], plain[0, 0]
print("section", cut, "ball", beside, "far ball", far)
assert (corner == background).all()
assert np.abs(cut - (0xCC, 0x33, 0x99)).max() < 60 and plain[40:50, 54:64].std(axis=(0, 1)).max() < 4, "a section is no plain face in its own colour"
hollow = render("open.png", caps=False)
assert hollow[45, 59].sum() < 0.75 * cut.sum(), f"an open section shows a face: {hollow[45, 59]} {cut}"

fogged = render("fog.png", 3)
assert np.abs(fogged[45, 118] - background).max() < 0.75 * np.abs(far - background).max(), f"what is far does not fade: {far} {fogged[45, 118]}"
assert np.abs(fogged[45, 95] - beside).max() < 12, f"what is near fades: {beside} {fogged[45, 95]}"
clear = render("fog-clear.png", 3, transparent=True)
assert clear[45, 118, 3] < 240 and clear[45, 95, 3] > 250, f"fog is no opacity: {clear[45, 118]} {clear[45, 95]}"

shaded = render("occlusion.png", 2)
fold = (slice(24, 34), slice(91, 99))  # where two balls touch
shares = shaded[fold].sum(axis=2).mean(axis=1) / plain[fold].sum(axis=2).mean(axis=1)
print("light left in the fold", np.round(shares, 2))
assert shares.min() < 0.85, "a fold is no darker by ambient occlusion"
assert np.abs(shaded[45, 95] - beside).max() < 25, f"what stands free is darker by ambient occlusion: {beside} {shaded[45, 95]}"

floor = render("floor.png", floor="shadow")
under = floor[70:88].reshape(-1, 3)
print("shadow", under.min(), "of", background)
assert under.min() < 225, "there is no shadow below"
assert np.abs(floor[:20, :60] - background).max() <= 4, "there is something where no floor is"
shadow = render("floor-clear.png", floor="shadow", transparent=True)
dark = shadow[70:88].reshape(-1, 4)
lone = dark[(dark[:, 3] > 20) & (dark[:, 3] < 200)]
assert len(lone) > 50 and lone[:, :3].max() < 90, "a shadow on nothing is no dark veil"
print("light is right")`

func TestCutsAreSolid(t *testing.T) {
	t.Parallel()
	runScript(t, cutBalls, "cuts are right")
}

func TestLook(t *testing.T) {
	t.Parallel()
	runScript(t, renderLook, "light is right")
}
