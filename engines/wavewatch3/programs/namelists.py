"""Sets members of namelists in the text of a deck, and knows no more of them. The last assignment of a group is the one that
counts, so what is set is written before its end."""

from __future__ import annotations


def put(text: str, group: str, assignments: list[str]) -> str:
    """The text with assignments added to a group, which is made where it is not there."""
    end = end_of(text, group)
    lines = "".join(f"\n  {one}" for one in assignments) + "\n"
    if end is None:
        return f"{text.rstrip()}\n\n&{group}{lines}/\n"
    return text[:end] + lines + text[end:]


def end_of(text: str, group: str) -> int | None:
    """Where the "/" of a group stands; None of a group that is not there. Remarks and texts are passed over."""
    at, inside = 0, False
    while at < len(text):
        here = text[at]
        if here == "!":
            at = text.find("\n", at)
            if at < 0:
                return None
        elif inside and here in "'\"":
            at = text.index(here, at + 1)  # the front door has seen that each has its second one
        elif inside and here == "/":
            return at
        elif here == "&" and not inside and text[at + 1:at + 1 + len(group)].upper() == group and (
                not text[at + 1 + len(group):at + 2 + len(group)].strip()):
            inside = True
        at += 1
    return None


def triple(times: list[str]) -> str:
    """The times of an output, as DATE% takes them."""
    return " ".join(f"'{one}'" for one in times)
