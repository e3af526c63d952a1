"""The report on predicted structures: one HTML file that needs nothing beside it, no script, and no network.

Every text that comes from a request is escaped; the page's own policy forbids scripts and anything from outside.
"""

from __future__ import annotations

import base64
from html import escape
from typing import Any, NamedTuple
from urllib.parse import quote

from figures import BANDS
from results import UNTRAINED
from task import one_line

NO_TEMPLATE = "none of the templates has a part like it, or the weights hold no models of complexes"
MOST_SHOWN = 60  # proteins with pictures; the table has all
STYLE = """body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#20242a}
table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.25rem .6rem;border-bottom:1px solid #d8dde3}
td.n{text-align:right;font-variant-numeric:tabular-nums}.warning{background:#fde7ea;border:2px solid #b00020;padding:.6rem 1rem}
figure{margin:1rem 0}img{max-width:100%;height:auto}figcaption,small{color:#59636e}
.band{display:inline-block;width:.9em;height:.9em;margin:0 .3em 0 1em;vertical-align:-.1em}
@media print{section{break-inside:avoid}}"""
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"


class Shown(NamedTuple):
    """A protein with its pictures: name, caption and PNG of each."""

    row: dict[str, Any]
    pictures: list[tuple[str, bytes]]


def text(value: Any, limit: int = 300) -> str:
    """A text as HTML, in one line of bounded length."""
    return escape(one_line(str(value), limit), quote=True)


def page(request: dict[str, Any], shown: list[Shown], rows: list[dict[str, Any]], failed: list[dict[str, Any]]) -> str:
    title = text(request["title"] or "Predicted structures", 160)
    weights = request["weights"]
    warning = "" if weights["trained"] else f'<p class="warning"><strong>{text(UNTRAINED)}.</strong></p>'
    return "".join(
        [
            f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}"><style>{STYLE}</style></head><body>',
            f"<h1>{title}</h1>{warning}",
            f"<p>{len(rows)} of {len(rows) + len(failed)} proteins were folded with {text(request['predictor'])}, "
            f"{request['recycles'] + 1} passes each, with the weights <code>{text(weights['digest'][:16])}…</code> "
            f"(licence {text(weights['licence'])}"
            f"{'' if weights['commercialUse'] else ', no commercial use'}).{aligned(request)}{templates(request)}</p>",
            legend(),
            table(rows),
            listed("Not folded", [(one["item"], one["message"]) for one in failed]),
            listed("Folded without a template", [(row["name"], NO_TEMPLATE) for row in rows if row.get("templates") == []]),
            listed("Folded, and not relaxed", [(row["name"], row["notRelaxed"]) for row in rows if row.get("notRelaxed")]),
            *map(section, shown[:MOST_SHOWN]),
            citations(request["citations"]),
            "</body></html>\n",
        ]
    )


def aligned(request: dict[str, Any]) -> str:
    """Says what the chains were aligned to, of a model that can see alignments."""
    msa = (request["settings"] or {}).get("msa")
    if msa is None:
        return ""
    if "database" not in msa:
        return " The models saw single sequences: nothing was aligned."
    database = msa["database"]
    return (
        f" Each chain was aligned to {text(database['name'], 64)} {text(database['version'], 64)} "
        f"(<code>{text(database['digest'][:16])}…</code>) with MMseqs2."
    )


def templates(request: dict[str, Any]) -> str:
    """Says which structures the models could take as templates."""
    given = [one["id"] for one in (request["settings"] or {}).get("templates") or []]
    return f" Templates were taken from {text(', '.join(given))}." if given else ""


def legend() -> str:
    bands = "".join(
        f'<span class="band" style="background:{color}"></span>{name} ({least:g} or more)' for least, color, name in BANDS
    )
    return (
        f"<p>pLDDT:{bands}</p><p>pLDDT says how sure the model is of each residue's surroundings, from 0 to 100; below 50 a "
        "stretch is best read as having no fixed structure here. PAE says how sure it is of the place of one residue with respect "
        "to another: only where it is low do two domains or chains have a predicted arrangement. Neither says how a protein binds, "
        "moves or answers to a mutation.</p>"
    )


COLUMNS = (("residues", "residues"), ("chains", "chains"), ("meanPlddt", "mean pLDDT"), ("confidentFraction", "70 or more"),
           ("ptm", "pTM"), ("iptm", "ipTM"), ("meanPaeAngstrom", "mean PAE, Å"), ("alignedSequences", "aligned"))  # fmt: skip


def table(rows: list[dict[str, Any]]) -> str:
    columns = [(key, name) for key, name in COLUMNS if any(key in row for row in rows)]
    head = "".join(f"<th>{name}</th>" for _, name in columns)
    body = "".join(
        f'<tr><td><a href="{quote(row["file"])}.cif">{text(row["name"], 60)}</a></td>'
        + "".join(f'<td class="n">{"" if row.get(key) is None else row[key]}</td>' for key, _ in columns)
        + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr><th>protein</th>{head}</tr></thead><tbody>{body}</tbody></table>"


def listed(title: str, items: list[tuple[str, str]]) -> str:
    """Proteins, each with a reason, below a title; nothing of none."""
    if not items:
        return ""
    lines = "".join(f"<li>{text(name, 60)}: {text(reason)}</li>" for name, reason in items)
    return f"<h2>{title}</h2><ul>{lines}</ul>"


def section(shown: Shown) -> str:
    pictures = "".join(
        f'<figure><img alt="{text(caption)}" src="data:image/png;base64,{base64.b64encode(png).decode()}">'
        f"<figcaption>{text(caption)}</figcaption></figure>"
        for caption, png in shown.pictures
    )
    return f"<section><h2>{text(shown.row['name'], 60)}</h2>{pictures}</section>"


def citations(all_of: list[dict[str, str]]) -> str:
    items = "".join(
        f'<li>{text(one["text"], 500)} <a href="https://doi.org/{quote(one["doi"])}">{text(one["doi"])}</a></li>' for one in all_of
    )
    return f"<h2>To cite</h2><ul>{items}</ul>"
