"""Starts the headless Chromium of a viewer, watches that it lives, and ends it."""

from __future__ import annotations

import ctypes
import html
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import threading
from pathlib import Path

from serving import Desk
from task import executor_error, one_line

# Debian's chromium on the PATH is a shell script around the first of these.
PROGRAMS = ("/usr/lib/chromium/chromium", "chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless",
    # The whole process tree is in the task's sandbox already, where Chromium's own cannot be set up.
    "--no-sandbox",
    "--no-zygote",
    # Mesa's software drawing by EGL needs no X server; a hang is ended by our own deadline, not by the watchdog of a real GPU.
    "--use-gl=angle",
    "--use-angle=gl-egl",
    "--ignore-gpu-blocklist",
    "--disable-gpu-watchdog",
    "--disable-gpu-shader-disk-cache",
    "--disable-dev-shm-usage",
    "--disk-cache-size=1",
    "--force-device-scale-factor=1",
    "--force-color-profile=srgb",
    "--hide-scrollbars",
    "--mute-audio",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-domain-reliability",
    "--disable-sync",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-breakpad",
    "--no-first-run",
    "--no-default-browser-check",
    "--no-pings",
    "--no-proxy-server",
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    "--disable-hang-monitor",
    "--disable-features=OptimizationHints,MediaRouter,Translate,AutofillServerCommunication,"
    "CertificateTransparencyComponentUpdater",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    "--js-flags=--max-old-space-size=8192",
)
# /etc is absent in the sandbox, and with it the system's configuration of fonts.
FONTS = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig>
<dir>/usr/share/fonts</dir>
<cachedir>{cache}</cachedir>
<alias><family>sans-serif</family><prefer><family>Liberation Sans</family><family>DejaVu Sans</family></prefer></alias>
<alias><family>serif</family><prefer><family>Liberation Serif</family><family>DejaVu Serif</family></prefer></alias>
<alias><family>monospace</family><prefer><family>Liberation Mono</family><family>DejaVu Sans Mono</family></prefer></alias>
</fontconfig>
"""
# What Chromium is started with: it leads to the page.
START = '<!DOCTYPE html><meta name="referrer" content="no-referrer"><meta http-equiv="refresh" content="0;url={address}">'
PR_SET_PDEATHSIG = 1
STOP_WAIT_S = 5.0
MAX_LOG_TAIL_BYTES = 2000
# What Mesa has compiled lies below the viewer's folder. A browser begins with what set-up has compiled for the usual scenes
# (deploy/setup.sh), which takes half of the processor time off a small picture; without, it compiles for itself.
SHADERS, MAX_SHADERS = "shaders", "64M"
COMPILED = Path(sys.prefix, "share/molfabric/shaders.tar")
# Fields of /proc/<pid>/stat after the name in brackets: parent, and processor time in user and system mode.
PARENT, USER_TICKS, SYSTEM_TICKS = 1, 11, 12


class Browser:
    """A running Chromium that shows one page. Its end, wanted or not, is told to the desk."""

    def __init__(self, address: str, folder: Path, desk: Desk, threads: int) -> None:
        self.program = find_program()
        self.desk, self.log, self.start = desk, folder / "chromium.log", folder / "start.html"
        # The address has a secret in it, and everybody on a machine can read command lines.
        with open(self.start, "x", encoding="utf-8", opener=private) as start:
            start.write(START.format(address=html.escape(address)))
        command = [self.program, *FLAGS, f"--user-data-dir={folder / 'profile'}", self.start.as_uri()]
        libc = ctypes.CDLL(None)
        with open(self.log, "wb") as log:
            # The main thread starts it: the kernel sends the signal when the thread ends that has started the process.
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment(folder, threads),
                start_new_session=True,
                preexec_fn=lambda: libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL),
            )
        self.watcher = threading.Thread(target=self._watch, name="viewer-watch", daemon=True)
        self.watcher.start()
        self.used = 0.0

    def _watch(self) -> None:
        status = self.process.wait()
        self.desk.break_off(f"Chromium has ended with {status}{self._last_words()}")

    def _last_words(self) -> str:
        with open(self.log, "rb") as file:
            file.seek(max(0, self.log.stat().st_size - MAX_LOG_TAIL_BYTES))
            lines = [line for line in file.read().decode("utf-8", "replace").splitlines() if "FATAL" in line or "ERROR" in line]
        return f" ({one_line(lines[-1], 200)})" if lines else ""

    def forget_address(self) -> None:
        """Removes the file that led to the page. It is called when the page has come."""
        self.start.unlink(missing_ok=True)

    def cpu_seconds(self) -> float:
        """Processor time of Chromium's processes so far. What a process that has ended had used by itself is kept where it was
        seen."""
        self.used = max(self.used, tree_cpu_seconds(self.process.pid))
        return self.used

    def version(self) -> str:
        """Such as 156.0.7000.1."""
        told = subprocess.run([self.program, "--version"], capture_output=True, text=True, timeout=60, check=False).stdout.split()
        return next((word for word in told if word[:1].isdigit()), "unknown")

    def close(self) -> None:
        """Ends Chromium and all its processes. May be called twice."""
        self.desk.break_off("it was closed")
        for stop in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self.process.pid, stop)
            except ProcessLookupError:
                break
            self.watcher.join(STOP_WAIT_S)
        self.watcher.join()


def private(path: str, flags: int) -> int:
    """Opens a file that nobody else may read."""
    return os.open(path, flags, 0o600)


def find_program() -> str:
    for program in PROGRAMS:
        if found := shutil.which(program):
            return found
    raise executor_error("PROGRAM_MISSING", "Chromium is missing on the worker; install the chromium package.")


def environment(folder: Path, threads: int) -> dict[str, str]:
    """Chromium's whole environment; every folder in it is below the viewer's own."""
    for name in ("home", "tmp", "fonts", SHADERS):
        (folder / name).mkdir()
    if COMPILED.is_file():
        with tarfile.open(COMPILED) as archive:
            archive.extractall(folder / SHADERS, filter="data")
    fonts = folder / "fonts.conf"
    fonts.write_text(FONTS.format(cache=folder / "fonts"), encoding="utf-8")
    home = str(folder / "home")
    return {
        "PATH": "/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "HOME": home,
        "XDG_CONFIG_HOME": home,
        "XDG_CACHE_HOME": home,
        "XDG_DATA_HOME": home,
        "XDG_RUNTIME_DIR": home,
        "TMPDIR": str(folder / "tmp"),
        "FONTCONFIG_FILE": str(fonts),
        "LIBGL_ALWAYS_SOFTWARE": "1",
        "MESA_SHADER_CACHE_DIR": str(folder / SHADERS),
        "MESA_SHADER_CACHE_MAX_SIZE": MAX_SHADERS,
        "LP_NUM_THREADS": str(max(1, threads)),
    }


def tree_cpu_seconds(root: int) -> float:
    """Processor time of a process and its descendants, those that have ended and been waited for included; 0 without /proc."""
    parents, ticks = {}, {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        pid = int(entry.parent.name)
        parents[pid] = int(fields[PARENT])
        ticks[pid] = sum(map(int, fields[USER_TICKS : SYSTEM_TICKS + 3]))
    total = sum(count for pid, count in ticks.items() if descends(pid, root, parents))
    return total / os.sysconf("SC_CLK_TCK")


def descends(pid: int, root: int, parents: dict[int, int]) -> bool:
    while pid in parents and pid != root:
        pid = parents[pid]
    return pid == root
