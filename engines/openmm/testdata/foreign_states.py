"""Writes texts that pretend to be OpenMM states, each but "force in a state" one that a restart must refuse, and checks that a real
one keeps every bit.

foreign_states.py STATE FOLDER MARKER writes FOLDER/*.xml. Several of them hold a program that makes the file MARKER when OpenMM's
own reader meets it; it is run once here, to show that it works.
"""

import pickle
import subprocess
import sys
from pathlib import Path

import openmm

from dynamics import read_state, state_xml

HEAD = '<?xml version="1.0" ?>\n'


class Program:
    """Pickles as the order to make a file."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self):  # type: ignore[no-untyped-def]
        return Path.touch, (self.marker,)


def hostile(marker: Path) -> dict[str, str]:
    attributes = (
        f'forceGroup="0" function="{pickle.dumps(Program(marker)).hex()}" name="PythonForce" type="PythonForce" '
        f'usesPeriodic="0" version="2"'
    )
    inner = "<GlobalParameters/><Particles/>"
    force = f"<Force {attributes}>{inner}</Force>"
    box = '<PeriodicBoxVectors><A x="2" y="0" z="0"/><B x="0" y="2" z="0"/><C x="0" y="0" z="2"/></PeriodicBoxVectors>'
    body = f'{box}<Particles><Particle mass="1"/></Particles><Constraints/><Forces>{force}</Forces>'
    return {
        "force": force,
        "state of type pythonforce": f"<State {attributes}>{inner}</State>",
        "system": f'<System openmmVersion="8.6" type="System" version="1">{body}</System>',
        "state of type system": f'<State openmmVersion="8.6" type="System" version="1">{body}</State>',
    }


def entities() -> dict[str, str]:
    laughs = "".join(f'<!ENTITY {chr(98 + i)} "{f"&{chr(97 + i)};" * 50}">' for i in range(8))
    return {
        "external entity": '<!DOCTYPE State [<!ENTITY x SYSTEM "file:///etc/passwd">]>\n<State type="State" version="1" '
        'time="0">&x;</State>',
        "many entities": f'<!DOCTYPE State [<!ENTITY a "{"A" * 100}">{laughs}]>\n<State type="State" version="1" '
        f'time="&i;"></State>',
        "deep": '<State type="State" version="1">' + "<a>" * 2_000_000 + "</a>" * 2_000_000 + "</State>",
        "far too long": '<State type="State" version="1">' + " " * (40 << 20) + "</State>",
        "no type": "<State/>",
        "unknown type": '<State type="NoSuch" version="1"/>',
        "nothing": '<State type="State" version="1"/>',
    }


def damaged(state: str, marker: Path) -> dict[str, str]:
    """Real states with one thing wrong."""
    lines = state.splitlines(keepends=True)
    at = {name: next(i for i, line in enumerate(lines) if f"<{name} " in line) for name in ("Position", "Velocity", "A")}
    cut = lambda i: "".join(lines[:i] + lines[i + 1 :])  # noqa: E731
    put = lambda i, line: "".join(lines[:i] + [line] + lines[i + 1 :])  # noqa: E731
    row = lambda name, x: f'<{name} x="{x}" y="0" z="0"/>\n'  # noqa: E731
    return {
        "one position less": cut(at["Position"]),
        "one position more": put(at["Position"], 2 * lines[at["Position"]]),
        "one velocity less": cut(at["Velocity"]),
        "no box": cut(at["A"]),
        "huge box": put(at["A"], row("A", "90000")),
        "another box": put(at["A"], row("A", "10")),
        "position that is no number": put(at["Position"], row("Position", "nan")),
        "velocity without end": put(at["Velocity"], row("Velocity", "inf")),
        "position far away": put(at["Position"], row("Position", "1e300")),
        "position of two numbers": put(at["Position"], '<Position x="1" y="2"/>\n'),
        "time that is no number": state.replace('time="0"', 'time="nan"', 1),
        "steps without end": state.replace('stepCount="0"', f'stepCount="{"9" * 5000}"', 1),
        "steps below zero": state.replace('stepCount="0"', 'stepCount="-1"', 1),
        "force in a state": state.replace("<Positions>", hostile(marker)["force"] + "<Positions>", 1),
    }


def check_identical(state: str) -> None:
    """What is read of a real state, after some steps, is that state to the last bit: OpenMM writes the same text of both."""
    read, _ = read_state(state, state.count("<Position "))  # type: ignore[misc]
    system = openmm.System()
    for _ in range(state.count("<Position ")):
        system.addParticle(18.0)
    system.setDefaultPeriodicBoxVectors(*read.getPeriodicBoxVectors())
    context = openmm.Context(system, openmm.LangevinMiddleIntegrator(300, 1, 0.002), openmm.Platform.getPlatform("Reference"))
    context.setState(read)
    context.setVelocitiesToTemperature(300, 1)
    context.getIntegrator().step(7)
    for velocities in (True, False):
        text = state_xml(context.getState(getPositions=True, getVelocities=velocities))
        again, moving = read_state(text, system.getNumParticles())  # type: ignore[misc]
        assert moving == velocities
        assert state_xml(again) == text, "a real state was changed"


def main() -> None:
    state, folder, marker = Path(sys.argv[1]).read_text(), Path(sys.argv[2]), Path(sys.argv[3])
    check_identical(state)
    folder.mkdir()
    for name, text in (hostile(marker) | entities()).items():
        (folder / f"{name}.xml").write_text(HEAD + text)
    for name, text in damaged(state, marker).items():
        assert text != state, name
        (folder / f"{name}.xml").write_text(text)
    # In a process of its own, because OpenMM crashes once the program has run.
    reading = "import sys, openmm; openmm.XmlSerializer.deserialize(open(sys.argv[1]).read())"
    subprocess.run([sys.executable, "-c", reading, str(folder / "state of type pythonforce.xml")], capture_output=True, check=False)


if __name__ == "__main__":
    main()
