// Package tracer holds the programs that render a molecular scene with Blender's Cycles: Python that reads what the viewer has
// exported of the scene, and builds, lights and finishes it. Engines put it into their tasks' folders. The package starts nothing.
package tracer

import "embed"

// Programs are molecule.py, which other programs use as a module and which renders a frame by itself, with its helpers. They need
// Blender's module bpy.
//
//go:embed *.py
var Programs embed.FS

// BlenderFolder is where set-up puts bpy and what it needs, below the prefix of the Python that runs the programs.
const BlenderFolder = "share/molfabric/blender"
