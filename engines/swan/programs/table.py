"""Gathers what the scenarios of a job have come to in one table: out/scenarios.csv has a row for each, in the order of the job's
own table, with its cells, whether it converged, and the least, mean and most of every quantity at the last time.

Reads request.json and in/<scenario> of every run that has results; of the others the row says that there are none."""

from __future__ import annotations

import csv
import io
import sys
from typing import Any

from task import IN, OUT, Progress, main, python_version, read_json, user_error, write_text

ENDS = ("least", "mean", "most")


def work(request: dict[str, Any], progress: Progress) -> dict[str, Any]:
    scenarios, columns = request["scenarios"], request["columns"]
    found = {one["name"]: read_json(IN / one["name"]) for one in scenarios if (IN / one["name"]).is_file()}
    if not found:
        raise user_error("NO_RESULTS", "No scenario has results; the failures of the runs say why.")
    quantities = sorted({quantity for results in found.values() for quantity in results["fields"]})
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["name", *columns, "status", *(f"{quantity} {end}" for quantity in quantities for end in ENDS)])
    for one in scenarios:
        results = found.get(one["name"])
        fields = results["fields"] if results else {}
        spans = [fields.get(quantity, {}).get(end, "") for quantity in quantities for end in ENDS]
        writer.writerow([one["name"], *(safe(one["values"][column]) for column in columns), status(results), *spans])
    write_text(OUT / "scenarios.csv", out.getvalue())
    progress(1.0, f"{len(found)} of {len(scenarios)} scenarios have results")
    return {"summary": {"scenarios": len(scenarios), "withResults": len(found)}, "programs": {"python": python_version()},
            "failures": []}


def status(results: dict[str, Any] | None) -> str:
    if results is None:
        return "failed"
    return {True: "converged", False: "not converged", None: "done"}[results["converged"]]


def safe(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula; numbers stay as they are."""
    try:
        float(cell)
    except ValueError:
        return f"'{cell}" if cell[:1] in "=+-@" else cell
    return cell


if __name__ == "__main__":
    sys.exit(main(__doc__ or "", work))
