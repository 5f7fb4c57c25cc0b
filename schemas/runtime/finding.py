"""Finding: one problem found by a health check, with consequence and remedy.

Checks lie with what they check: tables in `stream`, the registry in `schemas`, processes and the
machine in `deploy`. `tidemark doctor` runs all of them and prints their findings.
"""

import hashlib

from msgspec import Struct


class Finding(Struct, frozen=True, rename="camel"):
    """One problem; each text is a sentence or two for an operator."""

    subject: str
    """The subject of the problem: a file, a table, a process, a setting."""
    problem: str
    """The problem, as one sentence."""
    meaning: str
    """The consequence for data, senders or queries."""
    remedy: str
    """The one command or action that fixes it; `tidemark doctor --repair` where that does."""
    id: str = ""
    """Id with which an operator accepts a problem that cannot be fixed; empty: it can be fixed."""


def finding_id(*facts: object) -> str:
    """Id of a problem that cannot be fixed; it changes when the problem grows."""
    return f"f_{hashlib.sha256(repr(facts).encode()).hexdigest()[:12]}"
