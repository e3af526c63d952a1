// Package pockets holds the Python programs that find the pockets of a protein with fpocket: the engine fpocket is about them, and
// docking lays its box around the best one when nobody says where to dock. It holds no Go code but their list.
package pockets

import "embed"

// Main is the program; the other files are what it is made of.
const Main = "find_pockets.py"

// Programs are the Python files.
//
//go:embed *.py
var Programs embed.FS
