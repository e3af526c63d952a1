// Package viewer holds the programs that draw molecular scenes with a headless Chromium: Python that drives the browser, and
// the page that the browser shows. Engines put the Python into their tasks' folders; the page is built at set-up by build.sh into
// PageFolder below the scientific Python's prefix, where the programs find it. The package starts nothing.
package viewer

import "embed"

// Programs are viewer.py, which draws, with its helpers atoms.py, browser.py and serving.py, export.py, which hands a scene to a ray
// tracer, and stills.py, which does either for single pictures. They need engines/program/film's task.py beside them.
//
//go:embed atoms.py browser.py export.py serving.py stills.py viewer.py
var Programs embed.FS

// PageFolder is where the built page lies, below the prefix of the Python that runs the programs.
const PageFolder = "share/molfabric/viewer"

// PageFiles are the files in PageFolder.
var PageFiles = []string{"index.html", "viewer.js"}
