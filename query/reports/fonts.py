"""The font of charts and PDF files: FiraGO, which has Latin, Greek, Cyrillic, Georgian and more.

It comes with a package, so nothing is downloaded. Packages are imported on first use: most
processes make no report.
"""

from functools import cache

REGULAR, BOLD = "figo", "figbo"
"""Names that the package has for both weights."""


@cache
def font_file(name: str) -> bytes:
    """The TrueType file of a font."""
    from pymupdf_fonts import fontbuffers

    return bytes(fontbuffers[name]())
