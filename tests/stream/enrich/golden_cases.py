"""Golden cases: `golden/<step>.toml` says what a step must make of what is sent.

Each `[[case]]` is named by `it`, which is the test's id; its other keys are the step's own.
"""

import tomllib
from pathlib import Path
from typing import Any

import pytest

GOLDEN = Path(__file__).parent / "golden"
LEAST = 40


def cases(step: str) -> list[Any]:
    """The cases of a step, as parameters of one test."""
    cases = tomllib.loads((GOLDEN / f"{step}.toml").read_text())["case"]
    names = [case["it"] for case in cases]
    assert len(names) >= LEAST, f"{step}: {len(names)} cases"
    assert len(set(names)) == len(names), f"{step}: two cases of one name"
    return [pytest.param(case, id=case["it"]) for case in cases]
