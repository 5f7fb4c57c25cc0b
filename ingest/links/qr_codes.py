"""QR codes of links, as SVG.

To draw one takes up to 20 ms of CPU, and whoever asks chooses the host that is drawn. So they are
drawn in turns, and the last ones are kept.
"""

import io
from collections import OrderedDict

import segno

from ingest.publishing.throttle import CpuThrottle

QUIET_ZONE_MODULES = 4
"""Modules of white around the code, as the standard asks for."""
CACHE_SIZE = 1024
QR_CODES_BUSY = "Too many codes are being drawn"


class QrCodes:
    """Draws codes, and keeps those that were asked for last."""

    def __init__(self) -> None:
        self._throttle = CpuThrottle(QR_CODES_BUSY)
        self._cache: OrderedDict[str, bytes] = OrderedDict()

    async def get(self, url: str) -> bytes:
        """The code of a URL; Unavailable when too many wait for theirs."""
        if url not in self._cache:
            async with self._throttle.slot():
                return self._render(url)
        return self._render(url)

    def _render(self, url: str) -> bytes:
        """Drawn now, unless it was drawn meanwhile."""
        code = self._cache[url] = self._cache.pop(url, b"") or render_svg(url)
        if len(self._cache) > CACHE_SIZE:
            self._cache.popitem(last=False)
        return code


def render_svg(url: str) -> bytes:
    """The code, black on white, that grows with the room it is given."""
    drawn = io.BytesIO()
    segno.make(url, error="m", micro=False).save(
        drawn,
        kind="svg",
        border=QUIET_ZONE_MODULES,
        light="#fff",
        omitsize=True,
        xmldecl=False,
        nl=False,
    )
    return drawn.getvalue()
