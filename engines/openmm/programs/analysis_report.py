"""The report on a simulation: one HTML file that needs nothing beside it, no script, and no network.

Every text that comes from a request is escaped; the page's own policy forbids scripts and anything from outside, and its figures
are data of its own. For one set of inputs the page is the same to the byte.
"""

from __future__ import annotations

import base64
import math
from html import escape
from typing import Any, Iterable
from urllib.parse import quote

import plots
from analysis_report_style import STYLE
from analysis_statistics import KINDS, significant
from task import one_line

MAX_TITLE_CHARS = 160
MAX_FACTS = 40
MAX_NOTES = 20
MAX_CITATIONS = 50

VERDICTS = {
    "settled": "settled",
    "drifting": "drifts",
    "undecided": "cannot be told",
    "too-short": "too few values",
    "constant": "constant",
}
CAPTIONS = {
    "rmsd": (
        "Root-mean-square deviation",
        "from the first frame of the trajectory, after superposition on the {fitted} ({count}).",
    ),
    "radius-of-gyration": ("Radius of gyration", "mass-weighted, over all {atoms} atoms of the solute."),
    "rmsf": (
        "Root-mean-square fluctuation",
        "about the mean position, after superposition on the first frame; over the whole run.",
    ),
    "energy": ("Energies", "of the whole system: potential above, potential and kinetic together below."),
    "temperature": ("Temperature", "from the kinetic energy; the dashed line is the thermostat's."),
    "density": ("Density", "of the whole box."),
}


def text(value: Any, limit: int = 300) -> str:
    """A user's text as HTML, in one line of bounded length."""
    return escape(one_line(str(value), limit), quote=True)


def minus(written: str) -> str:
    return written.replace("-", "−")


def facts(rows: Iterable[tuple[str, Any]]) -> str:
    """A list of names and values; a value that is None is left out. Values are text, not HTML."""
    kept = [(name, value) for name, value in rows if value is not None][:MAX_FACTS]
    return '<dl class="facts">' + "".join(f"<dt>{text(name, 80)}</dt><dd>{text(value)}</dd>" for name, value in kept) + "</dl>"


def tile(name: str, value: str, small: str) -> str:
    return f"<div><dt>{text(name)}</dt><dd>{text(value)}<small>{text(small)}</small></dd></div>"


def figure_with_error(quantity: dict[str, Any]) -> str:
    """Mean and standard error, with as many digits as the error leaves sense in: "0.2130 ± 0.0080"."""
    error, digits = quantity["standardError"], KINDS[quantity["id"]].digits
    if not error:
        return minus(f"{quantity['mean']:,.{digits}f}")
    places = min(max(1 - math.floor(math.log10(error)), 0), 8)
    return minus(f"{quantity['mean']:,.{places}f}") + f" ± {error:,.{places}f}"


def heading(quantity: dict[str, Any]) -> str:
    return quantity["title"][:1].upper() + quantity["title"][1:]


def length_text(ns: float) -> str:
    """A length of time with a unit that suits it."""
    scale, unit = (1e-3, "µs") if ns >= 1000 else (1, "ns") if ns >= 1 else (1000, "ps")
    return f"{ns * scale:.4g} {unit}"


def span_text(run: dict[str, Any]) -> str:
    """How long a run is, and of one that goes on from an earlier one, from where to where."""
    length, start = length_text(run["durationNs"]), run["startNs"]
    return f"{length} (from {length_text(start)} to {length_text(start + run['durationNs'])})" if start else length


# Members of preparation.json, and of members of simulation.json, that the page shows, with their units.
PREPARED = {
    "forceField": ("Force field", ""),
    "waterModel": ("Water model", ""),
    "massDalton": ("Mass", "Da"),
    "netChargeE": ("Net charge", "e"),
    "cutoffNm": ("Cutoff", "nm"),
    "degreesOfFreedom": ("Degrees of freedom", ""),
}
PLATFORM = {"name": ("Platform", ""), "precision": ("Precision", "")}
EQUILIBRATED = {"nvt": ("At constant volume before", "steps"), "npt": ("At constant pressure before", "steps")}


def plain(document: dict[str, Any], shown: dict[str, tuple[str, str]]) -> list[tuple[str, Any]]:
    """Labels and values of a document's members that are single values."""
    rows = []
    for name, (label, unit) in shown.items():
        value = document.get(name)
        if isinstance(value, str):
            rows.append((label, value))
        elif isinstance(value, int | float) and not isinstance(value, bool):
            written = f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"
            rows.append((label, f"{minus(written)} {unit}".strip()))
    return rows


def box_text(document: dict[str, Any]) -> str | None:
    """The lengths of the box's edges in nm."""
    vectors = document.get("boxVectorsNm")
    try:
        return " × ".join(f"{math.hypot(*map(float, vector)):.2f}" for vector in vectors) + " nm" if vectors else None
    except (TypeError, ValueError):
        return None


def in_full(value: float) -> str:
    """Three significant digits without an exponent, with a sign."""
    places = 2 - math.floor(math.log10(abs(value))) if value else 0
    return minus(f"{round(value, places):+,.{min(max(places, 0), 8)}f}")


class Report:
    """The parts of the page."""

    def __init__(
        self,
        request: dict[str, Any],
        document: dict[str, Any],
        preparation: dict[str, Any],
        simulation: dict[str, Any],
        figures: dict[str, plots.Figure],
        programs: dict[str, str],
    ) -> None:
        self.request, self.document, self.preparation, self.simulation = request, document, preparation, simulation
        self.figures, self.programs = figures, programs
        self.quantities = {quantity["id"]: quantity for quantity in document["quantities"]}
        self.title = text(request.get("title") or "Molecular dynamics", MAX_TITLE_CHARS)

    def page(self) -> str:
        parts = [self.head(), self.tiles(), self.verdict(), self.pictures(), self.table(), self.setup(), self.references()]
        policy = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
        return (
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="referrer" content="no-referrer">\n'
            f"<title>{self.title} – simulation report</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
            + "\n".join(filter(None, parts))
            + "\n</main>\n</body>\n</html>\n"
        )

    def head(self) -> str:
        run, system = self.document["run"], self.document["system"]
        lead = (
            f"{span_text(run)} of {system['atoms']:,} atoms at {run['temperatureK']:g} K, in steps of {run['timestepFs']:g} fs, "
            f"with OpenMM {self.programs['openmm']}."
        )
        return (
            f'<header><p class="kicker">Molecular dynamics report</p><h1>{self.title}</h1><p '
            f'class="lead">{text(lead, 500)}</p></header>'
        )

    def tiles(self) -> str:
        run = self.document["run"]
        tiles = [
            tile(
                "Simulated", length_text(run["durationNs"]), f"{run['frames']:,} frames, {run['framesAnalysed']:,} of them analysed"
            )
        ]
        if run["nsPerDay"]:
            tiles.append(tile("Speed", f"{run['nsPerDay']:.3g} ns/day", "median over the run"))
        for name, small, digits in (("rmsd", "mean, from the first frame", 3), ("density", "mean", 3), ("temperature", "mean", 1)):
            if quantity := self.quantities.get(name):
                tiles.append(tile(heading(quantity), f"{quantity['mean']:.{digits}f} {quantity['unit']}", small))
        return f'<dl class="tiles">{"".join(tiles[:4])}</dl>'

    def verdict(self) -> str:
        judgement = self.document["judgement"]
        said = "".join(f"<li>{text(sentence, 400)}</li>" for sentence in judgement["sentences"])
        notes = "".join(f'<p class="note">{text(note, 400)}</p>' for note in self.document["notes"][:MAX_NOTES])
        return (
            f'<section aria-labelledby="settled"><h2 id="settled">Has it settled?</h2><div class="verdict {judgement["verdict"]}">'
            f"<strong>{text(judgement['headline'], 300)}</strong><ul>{said}</ul></div>{notes}</section>"
        )

    def pictures(self) -> str:
        shown = "".join(self.picture(name, figure) for name, figure in self.figures.items())
        if not shown:
            return ""
        legend = "Light lines are the values, dark lines their running mean; the distribution of all values stands at the side."
        return (
            f'<section aria-labelledby="figures"><h2 id="figures">Figures</h2><p class="note">{legend}</p><div '
            f'class="figures">{shown}</div></section>'
        )

    def picture(self, name: str, figure: plots.Figure) -> str:
        solute = self.document["solute"] or {"description": "", "fittedAtoms": 0, "atoms": 0}
        head, rest = CAPTIONS[name]
        caption = rest.format(fitted=solute["description"], count=f"{solute['fittedAtoms']:,} atoms", atoms=f"{solute['atoms']:,}")
        source = "data:image/svg+xml;base64," + base64.b64encode(figure.svg).decode("ascii")
        return (
            f'<figure><img alt="{text(figure.text)}" src="{source}"><figcaption><b>{head}</b> {text(caption)}</figcaption></figure>'
        )

    def table(self) -> str:
        columns = (
            "Quantity",
            "Unit",
            "Mean ± standard error",
            "Standard deviation",
            "Drift per ns",
            "Change over the second half",
            "Verdict",
        )
        head = "".join(f'<th scope="col"{" class=num" * (2 <= number <= 5)}>{name}</th>' for number, name in enumerate(columns))
        rows = "".join(self.row(quantity) for quantity in self.document["quantities"])
        caption = (
            "Over the whole production run. Standard errors come from block averages (Flyvbjerg and Petersen 1989); where blocks "
            "as long as the run "
            "allows still raise them, they are lower bounds, marked *. The drift is the slope of a straight line; the change is "
            "that of the second half with its 95 % "
            "uncertainty."
        )
        return (
            f'<section aria-labelledby="averages"><h2 id="averages">Averages</h2><div '
            f'class="scroll"><table><caption>{caption}</caption>'
            f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div></section>"
        )

    def row(self, quantity: dict[str, Any]) -> str:
        late = quantity["secondHalf"]
        mean = figure_with_error(quantity) + "*" * (quantity["standardErrorConverged"] is False)
        drift = "–" if quantity["driftPerNs"] is None else in_full(quantity["driftPerNs"])
        change = "–" if not late else in_full(late["change"])
        if late and late["changeUncertainty"] is not None:
            change += f" ± {significant(late['changeUncertainty'])}"
        return (
            f'<tr><th scope="row">{heading(quantity)}</th><td>{quantity["unit"]}</td><td class="num">{mean}</td>'
            f'<td class="num">{in_full(quantity["standardDeviation"]).lstrip("+")}</td><td class="num">{drift}</td><td '
            f'class="num">{change}</td>'
            f'<td class="{quantity["verdict"]}">{VERDICTS[quantity["verdict"]]}</td></tr>'
        )

    def setup(self) -> str:
        system, run, solute = self.document["system"], self.document["run"], self.document["solute"]
        made = [
            ("Atoms", f"{system['atoms']:,}"),
            ("Waters", f"{system['waters']:,}"),
            ("Ions", f"{system['ions']:,}"),
            (
                "Followed",
                f"{solute['atoms']:,} atoms in {solute['molecules']:,} molecule{'s' * (solute['molecules'] != 1)}"
                if solute
                else None,
            ),
            ("Box at the start", box_text(self.preparation)),
            *plain(self.preparation, PREPARED),
        ]
        ran = [
            ("Length", span_text(run)),
            ("Time step", f"{run['timestepFs']:g} fs"),
            ("Steps", f"{run['productionSteps']:,}"),
            ("Temperature", f"{run['temperatureK']:g} K"),
            ("Frame every", f"{self.request['trajectoryIntervalSteps']:,} steps"),
            ("Analysed every", f"{self.request['analysisIntervalSteps']:,} steps"),
            *self.simulated(),
        ]
        groups = (("System", made), ("Run", ran), ("Programs", sorted(self.programs.items())))
        columns = "".join(f"<div><h3>{name}</h3>{facts(rows)}</div>" for name, rows in groups)
        notes = [
            note
            for document in (self.preparation, self.simulation)
            if isinstance(document.get("notes"), list)
            for note in document["notes"]
        ]
        said = [f'<p class="note">{text(str(note)[:1].upper() + str(note)[1:], 400)}</p>' for note in notes[:MAX_NOTES]]
        return (
            f'<section aria-labelledby="setup"><h2 id="setup">What was simulated, and how</h2><div '
            f'class="columns">{columns}</div>{"".join(said)}</section>'
        )

    def simulated(self) -> list[tuple[str, Any]]:
        """What the simulation says of itself."""
        member = lambda name: found if isinstance(found := self.simulation.get(name), dict) else {}  # noqa: E731
        rows = [*plain(member("platform"), PLATFORM), *plain(member("equilibrationSteps"), EQUILIBRATED)]
        resumes = self.simulation.get("resumes")
        return rows + ([("Interruptions", f"{len(resumes)}, gone on from")] if isinstance(resumes, list) and resumes else [])

    def references(self) -> str:
        cited = [c for c in self.request.get("citations") or [] if isinstance(c, dict)][:MAX_CITATIONS]
        if not cited:
            return ""
        items = "".join(f"<li>{text(citation.get('text', ''), 600)}{doi_link(citation.get('doi'))}</li>" for citation in cited)
        return (
            f'<section aria-labelledby="references"><h2 id="references">Please cite</h2><ol '
            f'class="references">{items}</ol></section>'
        )


def doi_link(doi: str | None) -> str:
    if not doi:
        return ""
    return f' <a href="https://doi.org/{escape(quote(str(doi), safe="/"), quote=True)}" rel="noreferrer">doi:{text(doi, 200)}</a>'


def report_html(
    request: dict[str, Any],
    document: dict[str, Any],
    preparation: dict[str, Any],
    simulation: dict[str, Any],
    figures: dict[str, plots.Figure],
    programs: dict[str, str],
) -> str:
    """The page. document is analysis.json; preparation and simulation may be {}."""
    return Report(request, document, preparation, simulation, figures, programs).page()
