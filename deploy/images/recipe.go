// Package images builds, signs and checks the container images of molfabric: one of the control plane and one for each fleet. It
// needs no daemon. A layer is what a part adds to the parts below it, as an archive whose order, times and owners do not depend on
// the machine; the images lie in one OCI layout on disk, with their signatures and bills of materials, and go to a registry from
// there.
//
// It runs Debian's mmdebstrap and bubblewrap, and deploy/setup.sh within the roots that it makes.
package images

import (
	"slices"
	"time"
)

const (
	// suite is Debian 12, as set-up needs.
	suite = "bookworm"
	// installed is where an image holds what set-up installs, and home where its programs may write.
	installed, home = "/opt/molfabric", "/var/lib/molfabric"
	// user is whom the programs of an image run as.
	user, userName = 65534, "65534:65534"
	// Control is the image of the API, the scheduler, the migration and the store.
	Control = "control"
)

// moment is the time of every file and every image: when something was built says nothing about what it is.
var moment = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// part is what one layer holds.
type part struct {
	Name  string
	Below []string // parts that it lies on, the lowest first
	// Packages are Debian's: the root is made of them and of those of the parts below. Those of Tools are there while the part is
	// made and do not go into the layer.
	Packages, Tools []string
	// Setup is what deploy/setup.sh installs, and Files what decides it, in the repository.
	Setup string
	Files []string
	// Keep are the places that go into the layer. None: all.
	Keep []string
	// Compile are folders of Python modules.
	Compile []string
}

const (
	pythonFolder = installed + "/python"
	shareFolder  = pythonFolder + "/share/molfabric"
)

// parts are those of all images. A part stands after those that it lies on.
var parts = []part{
	// What the programs of several fleets load comes here; a few megabytes too many cost less than layers of their own.
	{Name: "base", Packages: []string{"bubblewrap", "ca-certificates", "libexpat1", "libgomp1", "libquadmath0", "libsm6",
		"libx11-6", "libxrender1", "python3-venv", "util-linux"}, Compile: []string{"/usr/lib/python3", "/usr/lib/python3.11"}},
	{Name: "depictions", Below: []string{"base"}, Packages: []string{"libxext6"}}, // RDKit's drawings
	{Name: "blast", Below: []string{"base"}, Packages: []string{"ncbi-blast+"}},
	{Name: "drawing", Below: []string{"base"}, Packages: []string{"chromium", "ffmpeg", "fonts-liberation", "libegl1", "libgl1",
		"libgl1-mesa-dri", "libxfixes3", "libxi6", "libxkbcommon0"}},
	{Name: "torch", Below: []string{"base"}, Packages: []string{"hhsuite", "kalign", "python3-torch"},
		Compile: []string{"/usr/lib/python3"}},
	{Name: "python", Below: []string{"base"}, Setup: "python", Keep: []string{pythonFolder}, Compile: []string{pythonFolder},
		Files: []string{"engines/vina/requirements.lock", "engines/fpocket/requirements.lock", "engines/openmm/requirements.lock",
			"engines/openmm/requirements-source.lock", "engines/molstar/requirements.lock"}},
	{Name: "swan", Below: []string{"base", "python"}, Tools: []string{"gfortran", "make"}, Setup: "swan",
		Keep:  []string{pythonFolder + "/bin/swan.exe"},
		Files: []string{"engines/swan/requirements-source.lock", "engines/swan/requirements-build.lock"}},
	{Name: "blender", Below: []string{"base", "python"}, Setup: "blender", Keep: []string{shareFolder + "/blender",
		pythonFolder + "/lib/python3.11/site-packages/molfabric-blender.pth"}, Compile: []string{shareFolder + "/blender"},
		Files: []string{"engines/cycles/requirements.lock"}},
	{Name: "viewer", Below: []string{"base", "python"}, Setup: "viewer", Keep: []string{shareFolder + "/viewer"},
		Files: []string{"deploy/node.lock", "engines/render/viewer/build.sh", "engines/render/viewer/package-lock.json",
			"engines/render/viewer/page"}},
	{Name: "fold", Below: []string{"base", "torch"}, Setup: "fold", Keep: []string{installed + "/fold"},
		Compile: []string{installed + "/fold"}, Files: []string{"engines/esmfold/requirements.lock"}},
	{Name: "alphafold", Below: []string{"base", "torch"}, Setup: "alphafold", Keep: []string{installed + "/alphafold"},
		Compile: []string{installed + "/alphafold"},
		Files:   []string{"engines/alphafold/requirements.lock", "engines/openmm/requirements-source.lock"}},
}

// Recipe is what one image is made of.
type Recipe struct {
	Name    string
	Parts   []string // the lowest first; molfabric itself lies on them
	Engines []string // that a worker in it offers
	python  string   // default the scientific Python
}

// Recipes are all images, those first whose parts others lie on.
var Recipes = []Recipe{
	{Name: Control},
	{Name: "sequences", Parts: []string{"base", "blast"}, Engines: []string{"blastp", "blastn"}, python: "/usr/bin/python3"},
	{Name: "docking", Parts: []string{"base", "depictions", "python"}, Engines: []string{"autodock-vina", "fpocket"}},
	{Name: "dynamics", Parts: []string{"base", "python"}, Engines: []string{"openmm"}},
	{Name: "waves", Parts: []string{"base", "python", "swan"}, Engines: []string{"swan"}},
	{Name: "rendering", Parts: []string{"base", "drawing", "python", "blender", "viewer"}, Engines: []string{"molstar", "cycles"}},
	// Reports are made by the scientific Python.
	{Name: "folding", Parts: []string{"base", "torch", "python", "fold", "alphafold"}, Engines: []string{"esmfold", "alphafold"}},
}

func partNamed(name string) part {
	return parts[slices.IndexFunc(parts, func(p part) bool { return p.Name == name })]
}

// packages are Debian's of a part and of those below it.
func (p part) packages() (all []string) {
	for _, below := range p.Below {
		all = append(all, partNamed(below).Packages...)
	}
	all = append(all, p.Packages...)
	slices.Sort(all)
	return slices.Compact(all)
}

// environment is that of an image's programs.
func (r Recipe) environment() []string {
	if r.Name == Control {
		return []string{"PATH=/usr/local/bin", "MOLFABRIC_HOME=" + home}
	}
	python, path := r.python, "/usr/local/bin:/usr/bin:/bin"
	if python == "" {
		python, path = pythonFolder+"/bin/python", pythonFolder+"/bin:"+path
	}
	return []string{"PATH=" + path, "MOLFABRIC_HOME=" + home, "MOLFABRIC_PYTHON=" + python,
		"MOLFABRIC_FOLD_PYTHON=" + installed + "/fold/bin/python",
		"MOLFABRIC_ALPHAFOLD_PYTHON=" + installed + "/alphafold/bin/python"}
}
