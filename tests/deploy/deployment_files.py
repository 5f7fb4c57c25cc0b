"""What the files of a deployment say: variables of Tidemark, and commands of its processes."""

import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from schemas.runtime.environment import load_settings, unknown_variables

DEPLOY = Path(__file__).parents[2] / "deploy"


def read_yaml(path: str) -> Any:
    return msgspec.yaml.decode((DEPLOY / path).read_bytes())


def check_variables(variables: dict[str, str]) -> None:
    """Each is a setting, and together they are valid."""
    own = {name: value for name, value in variables.items() if name.startswith("TIDEMARK_")}
    assert own
    assert list(unknown_variables(own)) == []
    load_settings(own)


def check_commands(commands: Iterable[Sequence[str]]) -> None:
    """Each starts a process of Tidemark and takes a name."""
    for command in commands:
        python, *module, option, _ = command
        helped = subprocess.run(
            [sys.executable, *module, "--help"], capture_output=True, text=True, check=False
        )
        assert (python, option) == ("python", "--name")
        assert (helped.returncode, "--name" in helped.stdout) == (0, True), command
