"""One sentence for a name that is not known: what was given, where, what was likely meant."""

from collections.abc import Iterable
from difflib import get_close_matches


def unknown_name_message(what: str, given: str, known: Iterable[str], where: str = "") -> str:
    """`Unknown column 'contry' in table 'events'; did you mean 'country'?`"""
    names = list(known)
    shown = given if len(given) <= 60 else given[:60] + "…"
    sentence = f"Unknown {what} '{shown}'{where}"
    close = get_close_matches(given[:100].lower(), names, n=1, cutoff=0.6)
    if close:
        return f"{sentence}; did you mean '{close[0]}'?"
    return f"{sentence}; known are {', '.join(names)}" if len(names) <= 20 else sentence
