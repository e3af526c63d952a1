"""Lets the kernel keep Blender to its own files (Landlock): opening a .blend follows its paths before anybody can look at them, and
simulations even empty the folders that they name.

It matters where the task is in no sandbox of its own. A kernel without Landlock changes nothing.
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path
from typing import Iterable

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # the same on all processors
RULE_PATH_BENEATH, VERSION = 1, 1
PR_SET_NO_NEW_PRIVS = 38
# Bits of linux/landlock.h: what may be done to a file, and what to a folder; the last ones came with versions 2 and 3.
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
CHANGE_DIR = sum(1 << bit for bit in range(4, 13))
REFER, TRUNCATE = 1 << 13, 1 << 14
FILE_RIGHTS = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE
READ = EXECUTE | READ_FILE | READ_DIR
CHANGE = READ | WRITE_FILE | CHANGE_DIR | REFER | TRUNCATE
# What programs, libraries and Blender's look at the machine need. Of /etc it is what names no user and holds no secret.
SYSTEM = (
    "/usr",
    "/lib",
    "/lib64",
    "/bin",
    "/opt",
    "/proc",
    "/sys",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/fonts",
    "/etc/alternatives",
)
DEVICES = "/dev"


class Ruleset(ctypes.Structure):
    _fields_ = [("handled_access_fs", ctypes.c_uint64)]


class PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("allowed_access", ctypes.c_uint64), ("parent_fd", ctypes.c_int32)]


def confine(readable: Iterable[Path], writable: Iterable[Path]) -> bool:
    """Keeps this process, from now on and for good, to the system's programs, to what is readable and to what is writable, files or
    folders. Returns whether the kernel does so. It is called before there are other threads."""
    libc = ctypes.CDLL(None, use_errno=True)
    version = libc.syscall(CREATE_RULESET, None, ctypes.c_size_t(0), VERSION)
    if version < 1:
        return False
    handled = CHANGE & ~(0 if version >= 2 else REFER) & ~(0 if version >= 3 else TRUNCATE)
    ruleset = libc.syscall(CREATE_RULESET, ctypes.byref(Ruleset(handled)), ctypes.c_size_t(ctypes.sizeof(Ruleset)), 0)
    if ruleset < 0:
        return False
    try:
        own = (sys.prefix, sys.base_prefix, Path(sys.executable).resolve().parent.parent)
        for path in (*map(Path, SYSTEM), *map(Path, own), *readable):
            allow(libc, ruleset, path, READ & handled)
        allow(libc, ruleset, Path(DEVICES), (READ | WRITE_FILE) & handled)
        for path in writable:
            allow(libc, ruleset, path, CHANGE & handled)
        libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        return libc.syscall(RESTRICT_SELF, ruleset, 0) == 0
    finally:
        os.close(ruleset)


def allow(libc: ctypes.CDLL, ruleset: int, path: Path, rights: int) -> None:
    """What is not there needs no right. Raises OSError when the kernel takes a rule amiss."""
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        rule = PathBeneath(rights if path.is_dir() else rights & FILE_RIGHTS, place)
        if libc.syscall(ADD_RULE, ruleset, RULE_PATH_BENEATH, ctypes.byref(rule), 0) != 0:
            raise OSError(ctypes.get_errno(), f"no rule for {path.name}")
    finally:
        os.close(place)
