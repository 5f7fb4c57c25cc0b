"""Registers the tables of an installation with its Trino, by the command that operators use."""

import subprocess
import sys

from schemas.kinds import TABLES
from tests.installation import ROOT, Installation

ALL_TABLES = frozenset(table.name for table in TABLES)


def register_tables(installation: Installation) -> set[str]:
    """Names of the tables that Trino knows then: those that have rows, or had when it was asked.

    The empty set when the command fails, as it does while the object store or Trino start.
    """
    done = subprocess.run(
        (sys.executable, "-m", "deploy.cli", "engine", "register"),
        cwd=ROOT,
        env=installation.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        return set()
    _, _, absent = done.stdout.partition("without rows, so not registered: ")
    return set(ALL_TABLES - {name.strip() for name in absent.split(",")})
