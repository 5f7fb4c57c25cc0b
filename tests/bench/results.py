"""Benchmark results: figures, their table, and the file that holds them."""

import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from msgspec import Struct

RESULTS = Path(__file__).parent / "RESULTS.md"
HEAD = """# Results

Written by `make bench` (`ARGS=freshness` for one part). The machine is shared and noisy: trust \
CPU per event and the ratios inside one run, not single times. \
A section without a date is older than 2026-11-28.
"""


class Figure(Struct, frozen=True):
    """One measured value beside what it is held against."""

    what: str
    value: float
    unit: str
    baseline: float | None = None
    against: str = ""
    """Description of the baseline."""
    expected: str = ""

    @property
    def ratio(self) -> float | None:
        """Value over baseline."""
        return self.value / self.baseline if self.baseline else None

    def row(self) -> str:
        ratio = "" if self.ratio is None else f"{self.ratio:.2f}"
        baseline = "" if self.baseline is None else number(self.baseline)
        cells = (
            self.what, number(self.value), self.unit, baseline, self.against, ratio, self.expected,
        )  # fmt: skip
        return "| " + " | ".join(cells) + " |"


class Section(Protocol):
    """A part of the file, under a title of its own."""

    @property
    def title(self) -> str:
        """Description of the measurement."""

    def text(self) -> str:
        """Markdown, from the title on."""


class BenchmarkResult(Struct, frozen=True):
    """The figures of one measurement, with how they were taken."""

    title: str
    how: str
    figures: Sequence[Figure]

    def text(self) -> str:
        head = "| figure | value | unit | baseline | which | ratio | expected |"
        rule = "|---|---:|---|---:|---|---:|---|"
        rows = "\n".join(figure.row() for figure in self.figures)
        return f"## {self.title}\n\n{self.how}\n\n{head}\n{rule}\n{rows}\n"


class SideBySide(Struct, frozen=True):
    """A table with a column for each system, or each size."""

    title: str
    how: str
    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[float | None]]]
    """Name, and a value for each column; None where there is nothing to measure."""

    def text(self) -> str:
        head = f"| {' | '.join(['figure', *self.columns])} |"
        rule = f"|---|{'---:|' * len(self.columns)}"
        rows = "\n".join(
            f"| {' | '.join([name, *('–' if v is None else number(v) for v in values)])} |"
            for name, values in self.rows
        )
        return f"## {self.title}\n\n{self.how}\n\n{head}\n{rule}\n{rows}\n"


def save(parts: Sequence[Section]) -> None:
    """Replace the sections with these titles; other sections stay."""
    results = _read_results()
    results.update({part.title: _dated(part.text()) for part in parts})
    RESULTS.write_text(f"{HEAD}\n" + "\n".join(results[title] for title in results))


def _read_results() -> dict[str, str]:
    text = RESULTS.read_text() if RESULTS.exists() else ""
    sections = [f"## {section}" for section in text.split("\n## ")[1:]]
    return {s.split("\n", 1)[0].removeprefix("## "): s.rstrip("\n") + "\n" for s in sections}


def _dated(section: str) -> str:
    """A section, with when it was measured and on what behind its title."""
    title, rest = section.split("\n", 1)
    load = ", ".join(f"{one:.1f}" for one in os.getloadavg())
    machine = f"{os.cpu_count()} cores, Python {platform.python_version()}, load {load}"
    return f"{title}\n\nMeasured {datetime.now(UTC):%Y-%m-%d %H:%M} UTC: {machine}.\n{rest}"


def number(value: float) -> str:
    """With two decimals below a hundred."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.2f}"
