"""Decodes a QR code from SVG, as far as tests need: byte mode, version 2, one block."""

import re
from collections.abc import Callable, Iterator

MASKS: tuple[Callable[[int, int], bool], ...] = (
    lambda r, c: (r + c) % 2 == 0,
    lambda r, c: r % 2 == 0,
    lambda r, c: c % 3 == 0,
    lambda r, c: (r + c) % 3 == 0,
    lambda r, c: (r // 2 + c // 3) % 2 == 0,
    lambda r, c: r * c % 2 + r * c % 3 == 0,
    lambda r, c: (r * c % 2 + r * c % 3) % 2 == 0,
    lambda r, c: ((r + c) % 2 + r * c % 3) % 2 == 0,
)
FORMAT = 0b101
"""What the bits of the mask's number are crossed with."""


def read_qr_code(svg: bytes) -> str:
    """The text of the code."""
    text = svg.decode()
    size = int(re.findall(r'viewBox="0 0 (\d+)', text)[0]) - 8
    dark = set(_dark(re.findall(r'(?:stroke="#000"|<path) d="([^"]+)"', text)[0]))
    number = sum(((8, c) in dark) << (4 - c) for c in (2, 3, 4)) ^ FORMAT
    bits = "".join(
        str(int(((r, c) in dark) != MASKS[number](r, c)))
        for r, c in _module_order(size)
        if _is_data_module(r, c, size)
    )
    assert bits[:4] == "0100", "bytes"
    length = int(bits[4:12], 2)
    return bytes(int(bits[n : n + 8], 2) for n in range(12, 12 + 8 * length, 8)).decode()


def _dark(path: str) -> Iterator[tuple[int, int]]:
    """The dark modules as rows and columns, without the quiet border of four."""
    x = y = 0.0
    for verb, first, second in re.findall(r"([Mmh])(-?[\d.]+)(?: (-?[\d.]+))?", path):
        if verb == "h":
            yield from ((int(y) - 4, int(x) - 4 + n) for n in range(int(first)))
            x += float(first)
        else:
            x, y = (x, y) if verb == "m" else (0.0, 0.0)
            x, y = x + float(first), y + float(second)


def _module_order(size: int) -> Iterator[tuple[int, int]]:
    """All modules in the order in which bits lie: pairs of columns, up and down, from the right."""
    columns = [c for c in range(size - 1, 0, -1) if c != 6]
    pairs = [c for c in columns if (c % 2 == 0) == (c > 6)]
    for turn, right in enumerate(pairs):
        for row in range(size - 1, -1, -1) if turn % 2 == 0 else range(size):
            yield row, right
            yield row, right - 1


def _is_data_module(r: int, c: int, size: int) -> bool:
    """Whether a module holds data rather than a pattern."""
    corner = (r < 9 and c < 9) or (r < 9 and c >= size - 8) or (r >= size - 8 and c < 9)
    aligned = abs(r - (size - 7)) <= 2 and abs(c - (size - 7)) <= 2
    return not (corner or aligned or r == 6 or c == 6)
