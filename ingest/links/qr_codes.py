"""QR codes of links, as SVG.

To draw one takes up to 20 ms of CPU, and whoever asks chooses the host that is drawn. So they are
drawn in turns, and the last ones are kept.
"""

import io
from collections import OrderedDict

import segno

from ingest.publishing.throttle import Turns

QUIET = 4
"""Modules of white around the code, as the standard asks for."""
KEPT = 1024
BUSY = "Too many codes are being drawn"


class Codes:
    """Draws codes, and keeps those that were asked for last."""

    def __init__(self) -> None:
        self._turns = Turns(BUSY)
        self._kept: OrderedDict[str, bytes] = OrderedDict()

    async def of(self, url: str) -> bytes:
        """The code of a URL; Unavailable when too many wait for theirs."""
        if url not in self._kept:
            async with self._turns.taken():
                return self._drawn(url)
        return self._drawn(url)

    def _drawn(self, url: str) -> bytes:
        """Drawn now, unless it was drawn meanwhile."""
        code = self._kept[url] = self._kept.pop(url, b"") or svg(url)
        if len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return code


def svg(url: str) -> bytes:
    """The code, black on white, that grows with the room it is given."""
    drawn = io.BytesIO()
    segno.make(url, error="m", micro=False).save(
        drawn, kind="svg", border=QUIET, light="#fff", omitsize=True, xmldecl=False, nl=False
    )
    return drawn.getvalue()
