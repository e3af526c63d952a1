"""Geometry Nodes that import a file (CSV, OBJ, PLY, STL, text, VDB) read whatever path they are given: they keep those of the
project."""

from __future__ import annotations

from typing import Any

import bpy

from places import Missing, lead, normal, resolved
from project import Project
from task import one_line

PREFIX, SOCKET = "GeometryNodeImport", "Path"
COMPUTED = "a path that other nodes compute"


def restrict(project: Project) -> list[tuple[Any, Missing]]:
    """Takes out every importing node that could read a file from elsewhere, and returns what they wanted, with the trees that they
    were in. A path that other nodes compute could become any, so it is taken for one from elsewhere."""
    wanted = []
    for tree in bpy.data.node_groups:
        for node in [node for node in tree.nodes if node.bl_idname.startswith(PREFIX)]:
            if (path := foreign(project, node)) is None:
                continue
            if not node.mute:
                wanted.append((tree, Missing(f"file of the node “{one_line(node.bl_label, 40)}”", node.name, path)))
            tree.nodes.remove(node)
    return wanted


def foreign(project: Project, node: Any) -> str | None:
    """The path by which a node would read a file that the project lacks; None when it reads the project's, or nothing."""
    socket = node.inputs.get(SOCKET)
    if socket is None or socket.is_linked:
        return COMPUTED
    if not socket.default_value:
        return None
    lead(project, socket, "default_value")
    path = normal(resolved(socket, socket.default_value))
    if not project.holds(path):
        return socket.default_value
    socket.default_value = str(path)  # what was looked at is what will be read
    return None
