"""A line of JSON for each test of a run: catalog number, name, seed, seconds, outcome, figures.

`make chaos` and `make cluster` load it as a plugin of pytest.
"""

import json
import re
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.chaos.faults import FIGURES, SEED

PROPERTY = "figures"
ROW = re.compile(r"^\| (T\d+) \|(.*)$", re.MULTILINE)
TEST = re.compile(r"`([\w/]+\.py::\w+)`")


def catalog() -> dict[str, str]:
    """Catalog number by test."""
    page = Path(__file__).with_name("README.md").read_text()
    return {test: number for number, row in ROW.findall(page) for test in TEST.findall(row)}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    call: pytest.CallInfo[None],
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Put what was counted during a test into its report."""
    report = yield
    if call.when == "call":
        report.user_properties.append((PROPERTY, dict(FIGURES)))
        FIGURES.clear()
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the lines."""
    numbers = catalog()
    for outcome in ("passed", "failed"):
        for report in terminalreporter.getreports(outcome):
            figures = dict(report.user_properties).get(PROPERTY)
            if isinstance(figures, dict):
                test = report.nodeid.partition("[")[0]
                result = {
                    "catalog": numbers.get(test, ""),
                    "name": report.nodeid,
                    "seed": SEED,
                    "seconds": round(report.duration, 1),
                    "outcome": outcome,
                    **figures,
                }
                terminalreporter.write_line(json.dumps(result))
