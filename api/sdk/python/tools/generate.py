"""Writes src/molfabric/schema.py: the types of the OpenAPI document that the package uses, and of what these are made of.

    python tools/generate.py [--check]

With --check nothing is written; the exit code is 1 when the file is not what the document says.
"""

import argparse
import json
import keyword
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent.parent
DOCUMENT = HERE.parent.parent / "testdata" / "openapi.json"
TARGET = HERE / "src" / "molfabric" / "schema.py"

# What the package's own code reads and writes.
USED = [
    "BlastHit", "BlastHitList", "DockingPose", "DockingResult", "DockingResultList", "DockingRun", "DockingRunList",
    "EstimateResponse", "Job", "LigandEntry", "MultipartInitResponse", "MultipartStatus", "Output", "Outputs", "PartURLsResponse",
    "ProgressEvent", "Receipt", "SimulationParams", "StatusEvent", "SubmitRequest", "SubmitResponse", "TaskEvent", "UploadPartDone",
    "UploadURLResponse",
]
HEAD = '''"""Types of the API's requests and answers. Made by tools/generate.py from api/testdata/openapi.json: change them there."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict
'''
SIMPLE = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None", "object": "dict[str, Any]"}
WIDTH = 132


def references(schema: Any) -> set[str]:
    """The names of the schemas that one refers to."""
    if isinstance(schema, list):
        return set().union(*map(references, schema))
    if not isinstance(schema, dict):
        return set()
    own = {schema["$ref"].rpartition("/")[2]} if isinstance(schema.get("$ref"), str) else set()
    return own.union(*map(references, schema.values()))


def closure(schemas: dict[str, Any], names: list[str]) -> list[str]:
    """The names, and those that they lead to, in order of the alphabet."""
    found, ahead = set(), set(names)
    while ahead:
        found |= ahead
        ahead = set().union(*(references(schemas[name]) for name in ahead)) - found
    return sorted(found)


def expression(schema: dict[str, Any]) -> str:
    """The Python type of a value."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    for choice in ("oneOf", "anyOf"):
        if choice in schema:
            return union(expression(one) for one in schema[choice])
    if "const" in schema or "enum" in schema:
        values = [schema["const"]] if "const" in schema else schema["enum"]
        texts = [json.dumps(value) if isinstance(value, str) else repr(value) for value in values if value is not None]
        return union([f"Literal[{', '.join(texts)}]"] + ["None"] * (None in values))
    kinds = schema.get("type", [])
    return union(of_kind(kind, schema) for kind in ([kinds] if isinstance(kinds, str) else kinds)) or "Any"


def of_kind(kind: str, schema: dict[str, Any]) -> str:
    if kind == "array":
        return f"list[{expression(schema.get('items', {}))}]"
    values = schema.get("additionalProperties")
    if kind == "object" and isinstance(values, dict) and "properties" not in schema:
        return f"dict[str, {expression(values)}]"
    return SIMPLE[kind]


def union(parts: Any) -> str:
    return " | ".join(dict.fromkeys(parts))


def wrapped(line: str) -> str:
    """A line that is too long, with each member of its union or list on a line of its own."""
    if len(line) <= WIDTH:
        return line
    head, bracket, rest = line.partition("[")
    members, end = rest.rsplit("]", 1)
    text, row = [head + bracket], " " * 7
    for member in members.split(", "):
        if len(row) + len(member) + 2 > WIDTH:
            text.append(row)
            row = " " * 7
        row += f" {member},"
    return "\n".join([*text, row, "    ]" + end])


def declaration(name: str, schema: dict[str, Any]) -> str:
    """A schema as a type of its own."""
    members = schema.get("properties")
    if not members:
        return f"{name} = {expression(schema)}"
    required = set(schema.get("required", []))
    kinds = {member: expression(value) if member in required else f"NotRequired[{expression(value)}]"
             for member, value in sorted(members.items())}
    if any(map(keyword.iskeyword, kinds)):
        return "\n".join([f'{name} = TypedDict("{name}", {{', *(f'    "{m}": {kind!r},' for m, kind in kinds.items()), "})"])
    return "\n".join([f"class {name}(TypedDict):", *(wrapped(f"    {member}: {kind}") for member, kind in kinds.items())])


def generate(document: dict[str, Any]) -> str:
    """The text of the file."""
    schemas = document["components"]["schemas"]
    return HEAD + "".join(f"\n\n{declaration(name, schemas[name])}\n" for name in closure(schemas, USED))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; fail when the file is not fresh")
    asked = parser.parse_args()
    text = generate(json.loads(DOCUMENT.read_text()))
    if asked.check:
        if not TARGET.exists() or TARGET.read_text() != text:
            print(f"{TARGET.relative_to(HERE)} is not what the document says: run python tools/generate.py", file=sys.stderr)
            return 1
        return 0
    TARGET.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
