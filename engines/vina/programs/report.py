"""The report of a docking job: one HTML file that needs nothing beside it, no script, and no network.

Every text that comes from a request is escaped; the page's own policy forbids scripts and anything from outside. For one set
of inputs the page is the same to the byte.
"""

from __future__ import annotations

import json
from collections import Counter
from html import escape
from typing import Any, Iterable
from urllib.parse import quote

from cnn import BY_CNN
from provenance import BOX_SOURCES, STAGES, edges, receptor_name
from report_figures import drawing, histogram, minus
from report_pictures import Pictures
from report_style import STYLE
from task import one_line

MAX_HITS = 50
MAX_CONTACTS = 7  # residues named of one type in a row of the table
MAX_NOTES = 3
MAX_HEAT_RESIDUES = 30
MAX_FAILED = 100
MAX_TITLE_CHARS = 160
LEAST_FOR_HISTOGRAM = 3
HEAT_OPACITY = 0.62  # of the fullest cell: dark text stays readable on it in both schemes
HEAT_RGB = "0,114,178"

# The types of interaction in the order in which a chemist reads them.
INTERACTIONS = {
    "hydrogen_bond": "H-bond",
    "salt_bridge": "salt bridge",
    "metal_complex": "metal",
    "halogen_bond": "halogen bond",
    "water_bridge": "water bridge",
    "pi_cation": "π–cation",
    "pi_stacking": "π stacking",
    "hydrophobic": "hydrophobic",
}


def text(value: Any, limit: int = 300) -> str:
    """A user's text as HTML, in one line of bounded length."""
    return together(escape(one_line(str(value), limit), quote=True))


def together(written: str) -> str:
    """Keeps numbers with their units."""
    return written.replace(" Å", "\u00a0Å").replace(" × ", "\u00a0×\u00a0").replace(" kcal/mol", "\u00a0kcal/mol")


def facts(rows: Iterable[tuple[str, Any]]) -> str:
    """A list of names and values; a value that is None is left out. Values are text, not HTML."""
    items = "".join(f"<dt>{text(name)}</dt><dd>{text(value)}</dd>" for name, value in rows if value is not None)
    return f'<dl class="facts">{items}</dl>'


def tile(name: str, value: str, small: str) -> str:
    return f"<div><dt>{text(name)}</dt><dd>{text(value)}<small>{text(small)}</small></dd></div>"


def verdict(passed: bool, good: str, bad: str) -> str:
    return f'<span class="good">✓ {text(good)}</span>' if passed else f'<span class="bad">✗ {text(bad)}</span>'


def short_note(note: str) -> str:
    """A note without the SMILES that the drawing shows; "" when nothing is left of it."""
    return "" if note.startswith("protonated at pH ") else note.split("; docked as ")[0]


class Report:
    """The parts of the page, from one results document."""

    def __init__(
        self,
        request: dict[str, Any],
        document: dict[str, Any],
        results: list[dict[str, Any]],
        programs: dict[str, str],
        methods: str,
        pictures: Pictures,
    ) -> None:
        self.request, self.document, self.programs, self.methods, self.pictures = request, document, programs, methods, pictures
        self.completed = [result for result in results if result["status"] == "COMPLETED"]
        self.failed = [result for result in results if result["status"] != "COMPLETED"]
        self.hits = self.completed[:MAX_HITS]
        self.counts, self.engine = document["counts"], document["engine"]
        chains = {key.split(":")[0] for hit in self.hits for key in hit["interactions"] or []}
        self.chain = chains.pop() if len(chains) == 1 else None
        self.by_cnn, self.cnn = request["rankBy"] == BY_CNN, any(hit["cnnScore"] is not None for hit in self.hits)
        self.title = text(request.get("title") or "Docking", MAX_TITLE_CHARS)

    def page(self) -> str:
        parts = [
            self.head(),
            self.tiles(),
            self.pictures.section(self.completed[0], self.request.get("picture", "none"), text),
            self.setup(),
            self.validation(),
            self.scores(),
            self.table(),
            self.interactions(),
            self.failures(),
            self.methods_section(),
            self.parameters(),
        ]
        policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
        return (
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="referrer" content="no-referrer">\n'
            f"<title>{self.title} – docking report</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
            + "\n".join(filter(None, parts))
            + "\n</main>\n</body>\n</html>\n"
        )

    def version(self) -> str:
        return f"{self.engine['name']} {self.engine['version'] or ''}".strip()

    def head(self) -> str:
        ligands = f"{self.counts['total']:,} ligand{'s' * (self.counts['total'] != 1)}"
        lead = (
            f"{ligands} docked into {receptor_name(self.document['receptor'])}, with {self.version()}, random seed "
            f"{self.document['seed']}."
        )
        return f'<header><p class="kicker">Docking report</p><h1>{self.title}</h1><p class="lead">{text(lead, 500)}</p></header>'

    def tiles(self) -> str:
        best, validation = self.completed[0], self.document["validation"]
        tiles = [tile("Best score", f"{minus(best['bestScoreKcalMol'], 2)} kcal/mol", best["label"])]
        if self.by_cnn and best["cnnScore"] is not None:
            tiles = [tile("Best CNN score", f"{best['cnnScore']:.2f}", best["label"])]
        counts = self.counts
        lost = f"{counts['failed']:,} failed" if counts["failed"] else "none failed"
        tiles.append(tile("Ligands docked", f"{counts['completed']:,} of {counts['total']:,}", lost))
        if validation:
            said = "crystal pose found again" if validation["passed"] else "crystal pose not found again"
            tiles.append(tile("Redocking", f"{validation['rmsdAngstrom']:.2f} Å", said))
        checked = [hit for hit in self.hits if hit["checks"]]
        if checked:
            passed = sum(hit["checks"]["passed"] for hit in checked)
            tiles.append(tile("Plausible poses", f"{passed} of {len(checked)}", "best poses pass every check"))
        return f'<dl class="tiles">{"".join(tiles)}</dl>'

    def setup(self) -> str:
        receptor, box, parameters = self.document["receptor"], self.document["box"], self.document["parameters"]
        size = box["sizeAngstrom"]
        selection = receptor.get("selection") or {}
        receptor_rows = [
            ("Structure", receptor_name(receptor)),
            ("Format", str(receptor.get("format", "")).upper() or None),
            ("Model", selection.get("model")),
            ("Protonation", receptor.get("protonation")),
            (
                "Atoms",
                f"{receptor['atomCount']:,}, {receptor['atomsInBox']:,} of them in the box" if receptor.get("atomCount") else None,
            ),
            *(("Note", note) for note in receptor.get("notes", [])[:6]),
        ]
        box_rows = [
            ("Placed", BOX_SOURCES.get(box.get("source"), box.get("source"))),
            ("Centre", ", ".join(minus(value, 3) for value in box["centerAngstrom"]) + " Å"),
            ("Size", f"{edges(size)} ({size[0] * size[1] * size[2]:,.0f} Å³)"),
            *(("Note", note) for note in box.get("notes", [])[:6]),
        ]
        search_rows = [
            ("Engine", f"{self.version()}, {self.engine['scoringFunction'].capitalize()} scoring"),
            ("Exhaustiveness", self.exhaustiveness()),
            ("Convergence", self.converged()),
            ("Poses a ligand", f"at most {parameters['numModes']}, within {parameters['energyRangeKcalMol']:g} kcal/mol"),
            ("Random seed", self.document["seed"]),
        ]
        columns = "".join(
            f"<div><h3>{name}</h3>{facts(rows)}</div>"
            for name, rows in (("Receptor", receptor_rows), ("Box", box_rows), ("Search", search_rows))
        )
        return (
            f'<section aria-labelledby="setup"><h2 id="setup">What was docked into what</h2><div '
            f'class="columns">{columns}</div></section>'
        )

    def exhaustiveness(self) -> str:
        """How long ligands were searched for."""
        used = sorted(hit["convergence"]["exhaustiveness"] for hit in self.completed if hit["convergence"])
        if not used:
            return str(self.document["parameters"]["exhaustiveness"])
        return f"auto: {used[0]}" + (f" to {used[-1]} a ligand" if used[-1] != used[0] else "")

    def converged(self) -> str:
        """Whether independent searches agree."""
        found = self.document["convergence"]
        if not found:
            return "not judged: one search of a fixed length cannot tell; exhaustiveness auto compares independent ones"
        if found["converged"] == found["judged"]:
            return "independent searches found the same best pose" + (" of every ligand" if found["judged"] > 1 else "")
        failed = found["judged"] - found["converged"]
        return (
            f"independent searches disagree on {failed:,} of {found['judged']:,} ligands; dock "
            f"{'it' if failed == 1 else 'them'} with more exhaustiveness"
        )

    def validation(self) -> str:
        validation = self.document["validation"]
        if not validation:
            return ""
        said = verdict(
            validation["passed"], f"within {validation['thresholdAngstrom']:g} Å", f"above {validation['thresholdAngstrom']:g} Å"
        )
        closest = f"pose {validation['closestRank']}, {validation['closestRmsdAngstrom']:.2f} Å"
        gate = validation.get("gateRmsdAngstrom")
        rows = [
            ("Native ligand", validation["componentId"]),
            ("Best-scored pose", f"{validation['rmsdAngstrom']:.2f} Å from the crystal pose"),
            ("Closest pose", closest),
            ("Score", f"{minus(validation['scoreKcalMol'], 2)} kcal/mol"),
            ("Search", agreement(validation.get("convergence"))),
            ("Gate", f"{gate:g} Å" if gate is not None else None),
        ]
        advice = (
            ""
            if validation["passed"]
            else (
                "<p>This set-up does not find the known pose again, so read the poses and scores below with caution. More "
                "exhaustiveness, another box, "
                "or a receptor that keeps the ions and waters of the site may help.</p>"
            )
        )
        return (
            f'<section aria-labelledby="validation"><h2 id="validation">Validation {said}</h2><p class="note">The structure’s own '
            f"ligand was taken out, "
            "built anew from its structural formula and docked again. Distances are root mean square deviations of the heavy "
            "atoms in place, corrected "
            f"for symmetry.</p>{facts(rows)}{advice}</section>"
        )

    def scores(self) -> str:
        scores = [result["bestScoreKcalMol"] for result in self.completed if result["bestScoreKcalMol"] <= 0]
        if len(scores) < LEAST_FOR_HISTOGRAM:
            return ""
        left_out = len(self.completed) - len(scores)
        note = f" {left_out:,} with a positive score are not drawn." if left_out else ""
        return (
            f'<section aria-labelledby="scores"><h2 id="scores">Scores</h2><figure>{histogram(scores)}<figcaption class="note">'
            f"Best score of each of {len(scores):,} docked ligands; more negative is better.{note}</figcaption></figure></section>"
        )

    def table(self) -> str:
        head = "".join(
            f'<th scope="col"{kind}>{name}</th>'
            for name, kind in (
                ("", ' aria-label="Rank"'),
                ("Structure", ""),
                ("Ligand", ""),
                ("Score<br>(kcal/mol)", ' class="num"'),
                ("Efficiency<br>(kcal/mol/atom)", ' class="num"'),
                *([("CNN score<br>(pK)", ' class="num"')] if self.cnn else []),
                ("Pose checks", ""),
                ("Interactions", ""),
            )
        )
        caption = (
            "Score of the best pose; efficiency is that score, sign reversed, divided by the number of heavy atoms. Structures "
            "are drawn in the "
            "protonation state in which they were docked."
        )
        if self.cnn:
            caption += (
                " The CNN score is the probability, by GNINA’s network, that the pose is near to native, with the affinity that "
                "the network predicts"
                " below it. Ligands and their poses are ranked by " + ("it." if self.by_cnn else "Vina’s score.")
            )
        title = f"Ligands by {'CNN score' if self.by_cnn else 'score'}"
        if len(self.completed) > len(self.hits):
            title = f"The {len(self.hits)} best ligands"
        rows = "".join(self.row(hit) for hit in self.hits)
        return (
            f'<section aria-labelledby="hits"><h2 id="hits">{title}</h2><div class="scroll"><table '
            f'class="hits"><caption>{caption}</caption>'
            f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div></section>"
        )

    def row(self, hit: dict[str, Any]) -> str:
        label, ligand_id = text(hit["label"], 120), text(hit["ligandId"], 120)
        name = (
            f"<strong>{label}</strong>" + (f'<span class="soft">{ligand_id}</span>' if ligand_id != label else "") + self.notes(hit)
        )
        picture = drawing(hit["dockedSmiles"], one_line(hit["label"], 120)) or '<span class="soft">no formula</span>'
        rmsd = hit["referenceRmsdAngstrom"]
        near = f'<br><span class="soft">{rmsd:.2f} Å from crystal</span>' if rmsd is not None else ""
        said = agreement(hit["convergence"])
        search = f'<br><span class="soft">{text(said)}</span>' if said else ""
        return (
            f'<tr><td class="num place">{hit["rank"]}</td><td class="drawing">{picture}</td><th scope="row" '
            f'class="name">{name}</th>'
            f'<td class="num score">{minus(hit["bestScoreKcalMol"], 2)}</td><td '
            f'class="num">{minus(hit["ligandEfficiency"], 2)}</td>{self.cnn_cell(hit)}'
            f'<td class="checks">{self.checks(hit)}{near}{search}</td><td class="contacts">{self.contacts(hit)}</td></tr>'
        )

    def cnn_cell(self, hit: dict[str, Any]) -> str:
        if not self.cnn:
            return ""
        if hit["cnnScore"] is None:
            return '<td class="num"><span class="soft">–</span></td>'
        return f'<td class="num">{hit["cnnScore"]:.2f}<br><span class="soft">{hit["cnnAffinityPk"]:.1f}</span></td>'

    def checks(self, hit: dict[str, Any]) -> str:
        checks = hit["checks"]
        if not checks:
            return '<span class="soft">not checked</span>'
        failed = sorted(name for name, passed in checks["tests"].items() if not passed)
        count = len(failed)
        listed = ", ".join(text(name.replace("_", " "), 60) for name in failed[:3])
        why = f'<br><span class="soft">{listed}{" …" * (count > 3)}</span>' if failed else ""
        return verdict(checks["passed"], "passed", f"{count} failed") + why

    def residue_of(self, key: str) -> tuple[str, str]:
        """Residue and type of an interaction key: "ASP 381" and hydrogen_bond; with its chain where there are several."""
        chain, name, number, kind = (key.split(":") + [""] * 4)[:4]
        return f"{name} {number}" + (f" {chain}" if self.chain is None and chain.strip() else ""), kind

    def contacts(self, hit: dict[str, Any]) -> str:
        """The residues that the best pose touches, by type, the directed interactions first."""
        if hit["interactions"] is None:
            return '<span class="soft">not analysed</span>'
        residues: dict[str, list[str]] = {}
        for residue, kind in map(self.residue_of, hit["interactions"]):
            residues.setdefault(kind, []).append(residue)
        lines = []
        for kind in filter(residues.get, INTERACTIONS):
            named = [f"<span>{text(residue, 40)}</span>" for residue in residues[kind][:MAX_CONTACTS]]
            more = len(residues[kind]) - len(named)
            lines.append(f"<p><b>{INTERACTIONS[kind]}</b> " + ", ".join(named) + (f" and {more} more" if more else "") + "</p>")
        return "".join(lines) or '<span class="soft">none found</span>'

    def notes(self, hit: dict[str, Any]) -> str:
        notes = list(filter(None, map(short_note, hit["notes"])))
        more = len(notes) - MAX_NOTES
        written = [text(note, 140) for note in notes[:MAX_NOTES]] + ([f"{more} more notes in results.json"] if more > 0 else [])
        return "".join(f'<p class="remark">{note}</p>' for note in written)

    def numbering(self) -> str:
        return (
            f"author numbering, chain {text(self.chain, 16)}"
            if self.chain and self.chain.strip()
            else "author numbering, then the chain"
        )

    def interactions(self) -> str:
        looked = [hit for hit in self.hits if hit["interactions"] is not None]
        cells = Counter(self.residue_of(key) for hit in looked for key in set(hit["interactions"]))
        if not cells:
            return ""
        kinds = [kind for kind in INTERACTIONS if any(found == kind for _, found in cells)]
        totals = Counter[str]()
        for (residue, _), count in cells.items():
            totals[residue] += count
        residues = [residue for residue, _ in sorted(totals.items(), key=lambda item: (-item[1], item[0]))[:MAX_HEAT_RESIDUES]]
        head = '<th scope="col">Residue</th>' + "".join(
            f'<th scope="col">{INTERACTIONS[kind].replace(" ", "<br>")}</th>' for kind in kinds
        )
        rows = "".join(
            f'<tr><th scope="row">{text(residue, 40)}</th>'
            + "".join(heat_cell(cells[residue, kind], len(looked)) for kind in kinds)
            + "</tr>"
            for residue in residues
        )
        whose = "the ligand" if len(looked) == 1 else f"the {len(looked)} best ligands"
        caption = f"Number of {whose} whose best pose has the interaction, by residue ({self.numbering()})."
        if len(totals) > len(residues):
            caption += f" The {len(residues)} most frequent of {len(totals)} residues."
        return (
            '<section aria-labelledby="contacts"><h2 id="contacts">Interactions of the best ligands</h2>'
            f'<p class="note">{caption}</p><div class="scroll"><table class="heat" aria-labelledby="contacts">'
            f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div></section>"
        )

    def failures(self) -> str:
        if not self.counts["failed"]:
            return ""
        stages = Counter(STAGES.get(result["failureStage"], str(result["failureStage"])) for result in self.failed)
        unknown = self.counts["failed"] - len(self.failed)
        said = [f"{count:,} in {text(stage)}" for stage, count in sorted(stages.items(), key=lambda item: (-item[1], item[0]))]
        if unknown:
            said.append(f"{unknown:,} in preparation tasks that did not finish")
        rows = "".join(
            f'<tr><th scope="row" class="name">{text(result["label"], 120)}</th><td>{text(result["ligandId"], 120)}</td>'
            f"<td>{text(STAGES.get(result['failureStage'], result['failureStage']))}</td><td>{text(result['error'])}</td></tr>"
            for result in self.failed[:MAX_FAILED]
        )
        more = len(self.failed) - MAX_FAILED
        rest = f'<p class="note">{more:,} more are in results.csv.</p>' if more > 0 else ""
        head = "".join(f'<th scope="col">{name}</th>' for name in ("Ligand", "Id", "Stage", "Reason"))
        return (
            f'<section aria-labelledby="failed"><h2 id="failed">Ligands that failed</h2><p>{", ".join(said)}.</p><div '
            f'class="scroll"><table>'
            f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>{rest}</section>"
        )

    def methods_section(self) -> str:
        references = "".join(
            f"<li>{text(citation['text'], 600)}{doi_link(citation.get('doi'))}</li>" for citation in self.request["citations"]
        )
        return (
            '<section aria-labelledby="methods"><h2 id="methods">Methods</h2><p class="note">This paragraph and its references '
            "may be used in a paper as "
            f'they are.</p><p class="paper">{together(escape(self.methods))}</p><ol class="references">{references}</ol></section>'
        )

    def parameters(self) -> str:
        receptor, search = self.document["receptor"], self.request["search"]
        given = [(name, json.dumps(value) if isinstance(value, dict) else value) for name, value in search.items()]
        rows = [
            *given,
            ("shardSize", self.request["shardSize"]),
            ("cpuThreadsAsked", self.request["cpuThreadsAsked"]),
            ("rankBy", self.request["rankBy"]),
        ]
        preparation = receptor.get("preparation") or self.request["receptorPreparation"]
        written = [
            (name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
            for name, value in preparation.items()
        ]
        digests = [
            ("input", receptor.get("inputSha256")),
            ("prepared", receptor.get("preparedSha256")),
            *sorted((receptor.get("hashes") or {}).items()),
        ]
        groups = (("Search", rows), ("Receptor preparation", written), ("Programs", sorted(self.programs.items())))
        columns = "".join(f"<div><h3>{name}</h3>{facts(pairs)}</div>" for name, pairs in groups)
        return (
            f'<section aria-labelledby="parameters"><h2 id="parameters">Parameters</h2><div class="columns">{columns}</div>'
            f'<div class="digests"><h3>SHA-256 of the receptor</h3>{facts(digests)}</div></section>'
        )


def agreement(convergence: dict[str, Any] | None) -> str | None:
    """How a ligand's independent searches agreed; None for a search of a fixed length."""
    if not convergence:
        return None
    said = "converged" if convergence["converged"] else "not converged"
    count = len(convergence["rounds"])
    return (
        f"{said}: {convergence['agreeingRounds']} of {count} independent searches found the best pose, exhaustiveness "
        f"{convergence['exhaustiveness']} in all"
    )


def heat_cell(count: int, most: int) -> str:
    if not count:
        return '<td class="none">·</td>'
    return f'<td style="background:rgba({HEAT_RGB},{0.08 + (HEAT_OPACITY - 0.08) * count / most:.2f})">{count}</td>'


def doi_link(doi: str | None) -> str:
    if not doi:
        return ""
    return f' <a href="https://doi.org/{escape(quote(doi, safe="/"), quote=True)}" rel="noreferrer">doi:{text(doi, 200)}</a>'


def report_html(
    request: dict[str, Any],
    document: dict[str, Any],
    results: list[dict[str, Any]],
    programs: dict[str, str],
    methods: str,
    pictures: Pictures,
) -> str:
    """The page. document is results.json without its ligands, results the ranked ligands; at least one is COMPLETED."""
    return Report(request, document, results, programs, methods, pictures).page()
