"""QR codes of links, as SVG."""

import io
from functools import lru_cache

import segno

QUIET = 4
"""Modules of white around the code, as the standard asks for."""


@lru_cache(maxsize=1024)
def svg(url: str) -> bytes:
    """The code, black on white, that grows with the room it is given."""
    drawn = io.BytesIO()
    segno.make(url, error="m", micro=False).save(
        drawn, kind="svg", border=QUIET, light="#fff", omitsize=True, xmldecl=False, nl=False
    )
    return drawn.getvalue()
