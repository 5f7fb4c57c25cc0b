"""Colors of the design system have the contrast that WCAG 2.2 asks for, in both themes.

The formula is that of WCAG: relative luminance of sRGB, (lighter + 0.05) / (darker + 0.05).
"""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

TOKENS = Path(__file__).parents[2] / "query/web/src/styles/tokens.css"
PAIR = re.compile(r"--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)")
BACKGROUNDS = ("back", "surface", "raised", "hover", "sunken", "chosen", "bar")
TEXTS = ("text", "quiet", "accent")
MARKS = ("strong-line", "bar-mark", "mark", "series-before", *(f"series-{n}" for n in range(1, 7)))
TEXT, MARK = 4.5, 3.0


def colors(theme: int) -> Mapping[str, str]:
    """The color of each token in one theme: 0 is light, 1 is dark."""
    return {name: pair[theme] for name, *pair in PAIR.findall(TOKENS.read_text())}


def luminance(color: str) -> float:
    """Relative luminance, 0 to 1."""
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """From 1, the same, to 21, black on white."""
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def pairs() -> list[tuple[str, str, float]]:
    """What stands on what, and the least contrast."""
    return [
        *((text, back, TEXT) for text in TEXTS for back in BACKGROUNDS),
        *((text, "surface", TEXT) for text in ("better", "worse", "warn")),
        ("text", "warn-fill", TEXT),
        ("accent-text", "accent", TEXT),
        *(("text", f"heat-{step}", TEXT) for step in (1, 2, 3)),
        *(("heat-text-strong", f"heat-{step}", TEXT) for step in (4, 5, 6)),
        *((mark, "surface", MARK) for mark in MARKS),
    ]


def test_the_formula_gives_the_known_extremes() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_colors_have_enough_contrast(theme: int) -> None:
    shown = colors(theme)

    too_low = {
        (mark, back): round(contrast(shown[mark], shown[back]), 2)
        for mark, back, least in pairs()
        if contrast(shown[mark], shown[back]) < least
    }

    assert too_low == {}
