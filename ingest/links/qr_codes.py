"""QR codes of links as SVG, throttled and cached.

Rendering one takes up to 20 ms of CPU, and the client chooses the host name in it. So rendering is
throttled, and the last codes are cached.
"""

import io
from collections import OrderedDict

import segno

from ingest.publishing.throttle import CpuThrottle

QUIET_ZONE_MODULES = 4
"""White border around the code, as the standard requires."""
CACHE_SIZE = 1024
QR_CODES_BUSY = "Too many QR codes are being generated; retry later"


class QrCodes:
    """Renders QR codes, with an LRU cache."""

    def __init__(self) -> None:
        self._throttle = CpuThrottle(QR_CODES_BUSY)
        self._cache: OrderedDict[str, bytes] = OrderedDict()

    async def get(self, url: str) -> bytes:
        """The QR code of a URL; Unavailable if too many requests wait."""
        if url not in self._cache:
            async with self._throttle.slot():
                return self._render(url)
        return self._render(url)

    def _render(self, url: str) -> bytes:
        """From the cache, or rendered now."""
        code = self._cache[url] = self._cache.pop(url, b"") or render_svg(url)
        if len(self._cache) > CACHE_SIZE:
            self._cache.popitem(last=False)
        return code


def render_svg(url: str) -> bytes:
    """The code as a scalable SVG, black on white."""
    svg = io.BytesIO()
    segno.make(url, error="m", micro=False).save(
        svg,
        kind="svg",
        border=QUIET_ZONE_MODULES,
        light="#fff",
        omitsize=True,
        xmldecl=False,
        nl=False,
    )
    return svg.getvalue()
