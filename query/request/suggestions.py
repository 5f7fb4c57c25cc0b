"""Error text for an unknown name, with a suggestion."""

from collections.abc import Iterable
from difflib import get_close_matches


def unknown_name_message(what: str, name: str, known: Iterable[str], where: str = "") -> str:
    """`Unknown column 'contry' in table 'events'; did you mean 'country'?`"""
    names = list(known)
    shown = name if len(name) <= 60 else name[:60] + "…"
    sentence = f"Unknown {what} '{shown}'{where}"
    close = get_close_matches(name[:100].lower(), names, n=1, cutoff=0.6)
    if close:
        return f"{sentence}; did you mean '{close[0]}'?"
    return f"{sentence}; known are {', '.join(names)}" if len(names) <= 20 else sentence
