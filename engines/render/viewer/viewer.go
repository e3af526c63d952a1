// Package viewer holds the programs that draw molecular scenes with a headless Chromium: Python that drives the browser, what it
// is told, and the page that the browser shows. Engines put the Python into their tasks' folders; the page is built at set-up by
// build.sh into PageFolder below the scientific Python's prefix, where the programs find it. The package starts nothing.
package viewer

import "embed"

// Programs are viewer.py, which draws, with its helpers atoms.py, browser.py and serving.py, export.py, which hands a scene to a
// ray tracer, and stills.py, which does either for single pictures. They need task.py beside them.
//
//go:embed atoms.py browser.py export.py serving.py stills.py viewer.py
var Programs embed.FS

// ReservedBytes are what each of Chromium's processes that run pages sets aside and does not use: with less than some 3.5 GiB they
// end before they have begun.
const ReservedBytes = 4 << 30

// PageFolder is where the built page lies, below the prefix of the Python that runs the programs.
const PageFolder = "share/molfabric/viewer"

// FindPrograms is a Python text that looks for Chromium, ffmpeg, Pillow and the page, and keeps their versions in the dictionary
// found; what is missing is left out. Probes of engines begin with it.
const FindPrograms = `import importlib.metadata as m, json, os, pathlib, re, shutil, subprocess, sys, tempfile
found = {}
def version(name, flag, *places):
    program = next((p for p in map(shutil.which, places) if p), None)
    if program:
        home = {**os.environ, "HOME": tempfile.gettempdir()}
        said = subprocess.run([program, flag], capture_output=True, text=True, timeout=60, env=home).stdout
        number = re.search(r"\d+(\.\d+)+", said)
        if number:
            found[name] = number.group()
version("chromium", "--version", "/usr/lib/chromium/chromium", "chromium", "chromium-browser", "google-chrome")
version("ffmpeg", "-version", "ffmpeg")
page = pathlib.Path(sys.prefix, "` + PageFolder + `")
if (page / "viewer.js").is_file() and (page / "index.html").is_file():
    found["viewer"] = "installed"
try:
    found["pillow"] = m.version("pillow")
except m.PackageNotFoundError:
    pass`
