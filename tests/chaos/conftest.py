"""A line of JSON for each test of this folder: name, seed, seconds, outcome, and its figures."""

import json
from collections.abc import Generator

import pytest

from tests.chaos.faults import FIGURES, SEED

PROPERTY = "chaos"


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
    for outcome in ("passed", "failed"):
        for report in terminalreporter.getreports(outcome):
            figures = dict(report.user_properties).get(PROPERTY)
            if figures is not None:
                terminalreporter.write_line(json.dumps(line(report, outcome, figures)))


def line(report: pytest.TestReport, outcome: str, figures: object) -> dict[str, object]:
    """What is printed of one test."""
    assert isinstance(figures, dict)
    return {
        "name": report.nodeid,
        "seed": SEED,
        "seconds": round(report.duration, 1),
        "outcome": outcome,
        **figures,
    }
