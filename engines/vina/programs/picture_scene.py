"""The scenes of a docking's pictures as MolViewSpec documents: the pose in its site, and the box around it in the whole
receptor."""

from __future__ import annotations

import math
from typing import Any, Iterable, NamedTuple

import numpy as np

from picture_labels import Ground, Wish, layout
from picture_site import Contact, Residue, Shown, Site
from picture_view import FOV_RADIANS, View, behind

Node = dict[str, Any]

# Told apart by every kind of colour vision, after Okabe and Ito.
POSE_CARBON, NATIVE_CARBON, COFACTOR_CARBON, RESIDUE_CARBON = "#35c47a", "#e79bd0", "#f0b04a", "#ccd2da"
CHAIN, WHOLE, INK, EDGE, BOX, OTHER = "#f3f6fa", "#e3e9f0", "#20242a", "#ffffff", "#1f8fe0", "#9aa3ad"


class Kind(NamedTuple):
    """An interaction in a picture: its name for people, and its colour."""

    name: str
    color: str


KINDS = {
    "hydrogen_bond": Kind("hydrogen bond", "#1f8fe0"),
    "salt_bridge": Kind("salt bridge", "#d99a00"),
    "halogen_bond": Kind("halogen bond", "#00a5a5"),
    "metal_complex": Kind("bond to a metal", "#8a5fb0"),
    "water_bridge": Kind("water bridge", "#6fb9ea"),
    "pi_stacking": Kind("π stacking", "#4aa85a"),
    "pi_cation": Kind("π–cation", "#d96b45"),
    "hydrophobic": Kind("hydrophobic contact", "#9aa3ad"),
}
POSE_SIZE, RESIDUE_SIZE, NATIVE_SIZE = 0.28, 0.19, 0.15
METAL_SIZE, WATER_SIZE, POSE_BALL_SIZE, THIN = 0.5, 0.18, 0.9, 0.6
WATER = "#e0413a"
EDGE_WIDTH = 0.22  # of the light edge around letters, to their size
SITE_FOG, BOX_FOG = 60, 15  # how much of what is far away fades
EDGE_SHARE = 0.006  # of the box's edges to the half of what is seen
RIM_ANGSTROM, RIM_POINTS = 1.0, 8
METADATA = {"version": "1", "timestamp": "1970-01-01T00:00:00Z"}
BY_ELEMENT = {"molstar_color_theme_name": "element-symbol"}
STICK_ASPECT = 0.95  # of a bond's width to an atom's
LABEL_SHARE, DISTANCE_SHARE = 0.042, 0.031  # of a text's size to the picture's height
TUBE_ANGSTROM, THIN_ANGSTROM, DASH_ANGSTROM = 0.07, 0.035, 0.17


def kind_of(contact: Contact) -> Kind:
    """How a contact looks, one of a kind that is not known here included."""
    return KINDS.get(contact.kind, Kind(contact.kind.replace("_", " "), OTHER))


def node(
    kind: str, params: dict[str, Any] | None = None, children: Iterable[Node] = (), custom: dict[str, Any] | None = None
) -> Node:
    made: Node = {"kind": kind}
    if params:
        made["params"] = params
    if custom:
        made["custom"] = custom
    if children := list(children):
        made["children"] = children
    return made


def loaded(url: str, form: str, children: Iterable[Node]) -> Node:
    return node("download", {"url": url}, [node("parse", {"format": form}, [node("structure", {"type": "model"}, children)])])


def place_of(residue: Residue) -> Node:
    """The selector of a residue, by its place in the file."""
    chain, number, code = residue.place
    return {"auth_asym_id": chain, "auth_seq_id": number, **({"pdbx_PDB_ins_code": code} if code else {})}


def atoms_of(shown: Shown) -> list[Node]:
    if shown.names is None:
        return [place_of(shown.residue)]
    return [{**place_of(shown.residue), "auth_atom_id": name} for name in sorted(shown.names)]


def sticks(selector: Any, carbon: str, size: float) -> Node:
    """A component as sticks, elements in their usual colours."""
    uniform = {"value": int(carbon[1:], 16), "saturation": 0, "lightness": 0}
    color = node(
        "color", custom={**BY_ELEMENT, "molstar_color_theme_params": {"carbonColor": {"name": "uniform", "params": uniform}}}
    )
    shape = {"type": "ball_and_stick", "size_factor": size, "ignore_hydrogens": True}
    look = node("representation", shape, [color], {"molstar_representation_params": {"sizeAspectRatio": STICK_ASPECT}})
    return node("component", {"selector": selector}, [look])


def spheres(selector: Any, color: str | None, size: float) -> Node:
    painted = node("color", {"color": color}) if color else node("color", custom=BY_ELEMENT)
    look = node("representation", {"type": "spacefill", "size_factor": size}, [painted])
    return node("component", {"selector": selector}, [look])


def cartoon(selector: Any, color: str, size: float = 1.0) -> Node:
    look = node("representation", {"type": "cartoon", "size_factor": size}, [node("color", {"color": color})])
    return node("component", {"selector": selector}, [look])


def vector(point: Iterable[float]) -> list[float]:
    return [round(float(x), 3) for x in point]


def tube(start: np.ndarray, end: np.ndarray, color: str, radius: float) -> Node:
    ends = {"start": vector(start), "end": vector(end)}
    return node("primitive", {"kind": "tube", **ends, "radius": radius, "dash_length": DASH_ANGSTROM, "color": color})


def text_at(point: np.ndarray, text: str, size: float, color: str) -> Node:
    look = {"label_size": round(size, 3), "label_color": color}
    return node("primitive", {"kind": "label", "position": vector(point), "text": text, **look})


def camera(view: View) -> Node:
    """The camera as the format has it: at the distance at which it would stand with any field of view."""
    position = view.target + view.distance * 2 * math.sin(FOV_RADIANS / 2) * view.basis[2]
    return node("camera", {"target": vector(view.target), "position": vector(position), "up": vector(view.basis[1])})


def canvas(fog: int) -> Node:
    custom = {"molstar_postprocessing": {"enable_ssao": True, "enable_fog": True, "fog_params": {"intensity": fog}}}
    return node("canvas", {"background_color": "#ffffff"}, custom=custom)


def site_scene(site: Site, view: View, overlaid: bool) -> list[Node]:
    """What stands below the root of the best pose's scene. overlaid asks for the crystal pose of the same molecule beside it."""
    receptor = [ribbon(site, view)]
    if site.residues:
        receptor.append(sticks([atom for shown in site.residues for atom in atoms_of(shown)], RESIDUE_CARBON, RESIDUE_SIZE))
    if site.cofactors:
        receptor.append(sticks([place_of(r) for r in site.cofactors], COFACTOR_CARBON, RESIDUE_SIZE))
    if site.metals:
        receptor.append(spheres([place_of(r) for r in site.metals], None, METAL_SIZE))
    if site.waters:
        receptor.append(spheres([place_of(r) for r in site.waters], WATER, WATER_SIZE))
    nodes = [
        loaded("receptor.pdb", "pdb", filter(None, receptor)),
        loaded("pose.sdf", "sdf", [sticks("all", POSE_CARBON, POSE_SIZE)]),
    ]
    if overlaid:
        nodes.append(loaded("crystal.sdf", "sdf", [sticks("all", NATIVE_CARBON, NATIVE_SIZE)]))
    return [*nodes, *contact_nodes(site, view), camera(view), canvas(SITE_FOG)]


def native_scene(site: Site, view: View) -> list[Node]:
    """The native ligand as it was docked again, over its crystal pose."""
    receptor = loaded("receptor.pdb", "pdb", filter(None, [ribbon(site, view)]))
    found = loaded("redocked.sdf", "sdf", [sticks("all", POSE_CARBON, POSE_SIZE)])
    crystal = loaded("crystal.sdf", "sdf", [sticks("all", NATIVE_CARBON, NATIVE_SIZE)])
    return [receptor, found, crystal, camera(view), canvas(SITE_FOG)]


def ribbon(site: Site, view: View) -> Node | None:
    """The chains of the site, but for what would cover the pose."""
    chains = behind(site, view)
    return cartoon([place_of(r) for r in chains], CHAIN, THIN) if chains else None


def contact_nodes(site: Site, view: View) -> list[Node]:
    """The contacts as dashed lines with their lengths, and the names of what is in contact."""
    lines = [tube(a, b, KINDS["metal_complex"].color, THIN_ANGSTROM) for a, b in site.coordination]
    lines += [
        tube(c.start, c.end, kind_of(c).color, THIN_ANGSTROM if c.kind == "hydrophobic" else TUBE_ANGSTROM) for c in site.contacts
    ]
    edge = {"molstar_label_params": {"borderColor": int(EDGE[1:], 16), "borderWidth": EDGE_WIDTH}}
    texts = label_nodes(site, view)
    named = [node("primitives", {"label_attachment": "middle-center"}, texts, edge)] if texts else []
    return ([node("primitives", children=lines)] if lines else []) + named


def name_of(residue: Residue, several: bool) -> str:
    chain, number, code = residue.author
    return f"{residue.name} {number}{code}" + (f" {chain}" if several and chain else "")


def label_nodes(site: Site, view: View) -> list[Node]:
    height = 2 * view.half_height
    size, small = LABEL_SHARE * height, DISTANCE_SHARE * height
    measured = [c for c in site.contacts if c.kind != "hydrophobic"]
    others = [Shown(r, None) for r in (*site.cofactors, *site.metals)]
    named = sorted([*site.residues, *others], key=lambda s: s.residue.place not in {c.residue.place for c in measured})
    several = len({s.residue.author[0] for s in named}) > 1
    wishes = [Wish(f"{c.distance:.1f} Å", small, view.flat((c.start + c.end) / 2)) for c in measured]
    wishes += [Wish(name_of(s.residue, several), size, named_points(s, view)) for s in named]
    places = layout(wishes, ground_of(site, view), view)
    colors = [kind_of(c).color for c in measured] + [INK] * len(named)
    return [text_at(view.place(place), wish.text, wish.size, color) for place, wish, color in zip(places, wishes, colors)]


def named_points(shown: Shown, view: View) -> np.ndarray:
    """What a label names, in the picture's plane: the atoms, or the rim of the ball that a lone one is drawn as."""
    flat = view.flat(shown.positions)
    if len(flat) > 1:
        return flat
    turns = np.arange(RIM_POINTS) * 2 * math.pi / RIM_POINTS
    return flat + RIM_ANGSTROM * np.stack((np.cos(turns), np.sin(turns)), axis=1)


def ground_of(site: Site, view: View) -> Ground:
    atoms = [s.positions for s in site.residues] + [r.positions for r in (*site.cofactors, *site.metals)]
    steps = np.linspace(0, 1, 9)[:, None]
    lines = [c.start + steps * (c.end - c.start) for c in site.contacts if c.kind != "hydrophobic"]
    return Ground(
        view.flat(site.pose),
        view.flat(np.concatenate([*atoms, np.empty((0, 3))])),
        view.flat(np.concatenate([*lines, np.empty((0, 3))])),
    )


def box_scene(box: dict[str, Any], view: View) -> list[Node]:
    """What stands below the root of the box's scene: the whole receptor, the box, and the pose in it."""
    place = {"center": vector(box["centerAngstrom"]), "extent": [edge / 2 for edge in box["sizeAngstrom"]]}
    edges = {"show_faces": False, "show_edges": True, "edge_radius": round(EDGE_SHARE * view.half_height, 3), "edge_color": BOX}
    parts = [cartoon("polymer", WHOLE), sticks("ligand", COFACTOR_CARBON, RESIDUE_SIZE), spheres("ion", None, METAL_SIZE)]
    pose = loaded("pose.sdf", "sdf", [spheres("all", POSE_CARBON, POSE_BALL_SIZE)])
    frame = node("primitives", children=[node("primitive", {"kind": "box", **place, **edges})])
    return [loaded("receptor.pdb", "pdb", parts), pose, frame, camera(view), canvas(BOX_FOG)]


def document(children: list[Node], title: str) -> dict[str, Any]:
    """A scene of one state. It says no time of its making, so that one docking makes one scene."""
    return {"metadata": {**METADATA, "title": title}, "root": node("root", children=children)}


def states(scenes: dict[str, list[Node]]) -> dict[str, Any]:
    """Scenes as the states of one document, in their order."""
    snapshots = [
        {"root": node("root", children=children), "metadata": {"key": name, "linger_duration_ms": 1000}}
        for name, children in scenes.items()
    ]
    return {"kind": "multiple", "metadata": METADATA, "snapshots": snapshots}
