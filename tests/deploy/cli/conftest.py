"""Commands called as a user calls them, in a data folder of their own."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.deploy.cli.command_result import Done, Run, run_command


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*arguments: str, **environment: str) -> Done:
        monkeypatch.setenv("TIDEMARK_DATA_DIR", str(tmp_path))
        with monkeypatch.context() as within:
            for name, value in environment.items():
                within.setenv(name, value)
            return run_command(arguments, capsys)

    return run


@pytest.fixture
def ask(run: Run) -> Callable[..., Any]:
    def ask(*arguments: str) -> Any:
        done = run(*arguments, "--json")
        assert done.code == 0, done.err
        return json.loads(done.out)

    return ask
