"""Scripted processes for tests of the supervisor."""

from pathlib import Path

import pytest

from tests.deploy.local.processes.scripted_processes import ScriptedProcesses


@pytest.fixture
def scripted(tmp_path: Path) -> ScriptedProcesses:
    return ScriptedProcesses(tmp_path)
