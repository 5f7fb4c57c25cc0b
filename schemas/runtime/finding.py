"""Finding: one problem found by a health check, with consequence and remedy.

Whoever knows a thing finds what is wrong with it (tables in `stream`, the registry in `schemas`,
processes and the machine in `deploy`); `tidemark doctor` runs all checks and shows what they found.
"""

import hashlib

from msgspec import Struct


class Finding(Struct, frozen=True, rename="camel"):
    """One thing that is wrong; each text is a sentence or two for an operator."""

    subject: str
    """The thing: a file, a table, a process, a setting."""
    problem: str
    """What is wrong with it."""
    meaning: str
    """What that means for data, senders or questions."""
    remedy: str
    """The one command (or one action) that mends it; `tidemark doctor --repair` where that does."""
    id: str = ""
    """By which an operator accepts it, once all was done that can be; empty: it can be mended."""


def finding_id(*facts: object) -> str:
    """The id of what cannot be undone; another one as soon as more of it happens."""
    return f"f_{hashlib.sha256(repr(facts).encode()).hexdigest()[:12]}"
