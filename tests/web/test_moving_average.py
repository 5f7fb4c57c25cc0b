"""Moving averages as the charts of the page compute them, worked out by hand."""

import json
import subprocess
from typing import Any

import pytest

from tests.repo.source_tree import ROOT

AVERAGES = """
import { build } from "esbuild";
const entryPoints = ["src/state/moving_average.ts"];
const [{ text }] = (await build({ entryPoints, format: "esm", write: false })).outputFiles;
const { movingAverage } = await import("data:text/javascript," + encodeURIComponent(text));
console.log(JSON.stringify(JSON.parse(process.argv[1]).map((each) => movingAverage(...each))));
"""
NONE_RUNNING = -1
CASES = {
    "the first buckets have none": (
        ([1, 2, 6, 4, 8], 3, NONE_RUNNING),
        [None, None, 3, 4, 6],
    ),
    "the running bucket is left out": (([1, 2, 6, 4, 8], 3, 4), [None, None, 3, 4, None]),
    "a missing value leaves out all that have it": (
        ([3, 3, None, 3, 3, 9], 3, NONE_RUNNING),
        [None, None, None, None, None, 5],
    ),
    "zeros and negative values count": (
        ([0, 0, -3, 0], 3, NONE_RUNNING),
        [None, None, -1, -1],
    ),
    "too few buckets have none": (([1, 2], 3, NONE_RUNNING), [None, None]),
}


@pytest.fixture(scope="module")
def averages() -> dict[str, Any]:
    """What the function of the page makes of each case."""
    asked = json.dumps([arguments for arguments, _ in CASES.values()])
    command = ["node", "--input-type=module", "-e", AVERAGES, asked]
    printed = subprocess.run(command, cwd=ROOT / "query/web", capture_output=True, check=True)
    return dict(zip(CASES, json.loads(printed.stdout), strict=True))


@pytest.mark.parametrize("case", CASES)
def test_a_moving_average(averages: dict[str, Any], case: str) -> None:
    assert averages[case] == CASES[case][1]
