"""Charts as PNG: a line for the period and a dashed, paler one for the period before.

Mail programs show no SVG. The image has twice the pixels of its size, for screens that show them;
its background is opaque, so that it is readable where a program darkens the mail.
"""

import io
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from query.reports.content import Content
from query.reports.fonts import BOLD, REGULAR, font_file
from query.reports.texts import WORDS, point_text

if TYPE_CHECKING:
    from PIL.ImageDraw import ImageDraw

WIDTH, HEIGHT = 480, 190
"""In the units of this module, of which a phone shows two thirds of a CSS pixel."""
RETINA, SMOOTH = 2.3, 2
"""Pixels of the image for one unit; pixels that are drawn for one of the image."""
PIXELS = (round(WIDTH * RETINA), round(HEIGHT * RETINA))
SHOWN_WIDTH = PIXELS[0] // 2
"""CSS pixels where there is room."""
FONT_SIZE = 13
LEFT, RIGHT, TOP, BOTTOM = 44, 26, 32, 26
LINE, PALE, AREA, GRID, TEXT = "#0b7cab", "#8795a3", "#e3f0f6", "#e3e8ed", "#55626f"
PAPER = "#ffffff"
TICKS = 4
"""At most so many lines of the grid above zero."""
LABEL_WIDTH = 54
STEPS = (1, 2, 2.5, 5, 10)

Spot = tuple[float, float]


def chart_of(content: Content) -> bytes:
    """The chart of the series, as a PNG file."""
    from PIL import Image, ImageDraw

    scale = RETINA * SMOOTH
    large = Image.new("RGB", (PIXELS[0] * SMOOTH, PIXELS[1] * SMOOTH), PAPER)
    values = [point.value for point in content.points]
    previous = [point.previous for point in content.points]
    top, step = scale_of([value for value in (*values, *previous) if value is not None])
    _draw_series(ImageDraw.Draw(large), values, previous, top, step, scale)
    image = large.resize(PIXELS, Image.Resampling.LANCZOS)
    _draw_texts(ImageDraw.Draw(image), content, top, step)
    file = io.BytesIO()
    image.quantize(64).save(file, "PNG", optimize=True)
    return file.getvalue()


def scale_of(values: Sequence[int]) -> tuple[int, int]:
    """The top of the axis and the distance of its lines, both round numbers."""
    most = max(values, default=0)
    for exponent in range(len(str(most)) + 1):
        for first in STEPS:
            step = first * 10**exponent
            if step == int(step) and step * TICKS >= most:
                return int(step) * max(1, -(-most // int(step))), int(step)
    return TICKS, 1


def _spots(values: Sequence[int | None], top: int, scale: float) -> list[Spot]:
    """Where the points lie, up to the first that is missing."""
    width, height = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    last = max(1, len(values) - 1)
    return [
        ((LEFT + width * i / last) * scale, (TOP + height * (1 - value / top)) * scale)
        for i, value in enumerate(values)
        if value is not None
    ]


def _draw_series(
    draw: "ImageDraw",
    values: Sequence[int | None],
    previous: Sequence[int | None],
    top: int,
    step: int,
    scale: float,
) -> None:
    base = (HEIGHT - BOTTOM) * scale
    line, before = _spots(values, top, scale), _spots(previous, top, scale)
    if len(line) > 1:
        draw.polygon([(line[0][0], base), *line, (line[-1][0], base)], fill=AREA)
    for tick in range(0, top + 1, step):
        y = (TOP + (HEIGHT - TOP - BOTTOM) * (1 - tick / top)) * scale
        draw.line([(LEFT * scale, y), ((WIDTH - RIGHT) * scale, y)], fill=GRID, width=round(scale))
    _dashed(draw, before, scale)
    if len(line) > 1:
        draw.line(line, fill=LINE, width=round(2.25 * scale), joint="curve")
    if len(line) <= 31:
        for x, y in line:
            radius = 2.75 * scale
            draw.ellipse([x - radius, y - radius, x + radius, y + radius], fill=LINE)


def _dashed(draw: "ImageDraw", spots: Sequence[Spot], scale: float) -> None:
    """Dashes of one length, also around corners."""
    dash, at = 5.0 * scale, 0.0
    for (x, y), (next_x, next_y) in pairwise(spots):
        length = ((next_x - x) ** 2 + (next_y - y) ** 2) ** 0.5
        done = 0.0
        while done < length:
            end = min(length, done + dash - at % dash)
            if at // dash % 2 == 0:
                begin_and_end = [
                    (x + (next_x - x) * part / length, y + (next_y - y) * part / length)
                    for part in (done, end)
                ]
                draw.line(begin_and_end, fill=PALE, width=round(1.75 * scale))
            at, done = at + end - done, end


def _draw_texts(draw: "ImageDraw", content: Content, top: int, step: int) -> None:
    """Labels of both axes and the legend, in pixels of the image."""
    from PIL import ImageFont

    small, bold = (
        ImageFont.truetype(io.BytesIO(font_file(name)), FONT_SIZE * RETINA)
        for name in (REGULAR, BOLD)
    )
    height, points = HEIGHT - TOP - BOTTOM, content.points
    for tick in range(0, top + 1, step):
        y = TOP + height * (1 - tick / top)
        spot = ((LEFT - 8) * RETINA, y * RETINA)
        draw.text(spot, compact(tick), fill=TEXT, font=small, anchor="rm")
    every = -(-len(points) * LABEL_WIDTH // (WIDTH - LEFT - RIGHT)) if points else 1
    for i in range(0, len(points), every):
        x = LEFT + (WIDTH - LEFT - RIGHT) * i / max(1, len(points) - 1)
        text = point_text(points[i].label)
        half = draw.textlength(text, font=small) / 2
        x = min(max(x * RETINA, half), WIDTH * RETINA - half)
        draw.text((x, (HEIGHT - BOTTOM + 14) * RETINA), text, fill=TEXT, font=small, anchor="mm")
    word = WORDS[content.schedule][0]
    _legend(draw, LEFT, f"This {word}", LINE, bold, dashed=False)
    if content.before is not None:
        x = LEFT + 46 + draw.textlength(f"This {word}", font=bold) / RETINA
        _legend(draw, x, f"The {word} before", PALE, small, dashed=True)


def _legend(draw: "ImageDraw", x: float, text: str, color: str, font: Any, dashed: bool) -> None:
    y = 11 * RETINA
    for begin, end in ((0, 7), (11, 18)) if dashed else ((0, 18),):
        line = [((x + begin) * RETINA, y), ((x + end) * RETINA, y)]
        draw.line(line, fill=color, width=round(2 * RETINA))
    draw.text(((x + 24) * RETINA, y), text, fill=TEXT, font=font, anchor="lm")


def compact(number: int) -> str:
    """A number of the axis, as `950`, `12.5k` or `3M`."""
    for size, suffix in ((1_000_000, "M"), (1_000, "k")):
        if number >= size:
            return f"{number / size:g}{suffix}"
    return str(number)
