"""Installs the packages of a lock file with uv, which needs a quarter of the CPU time of pip.

    python deploy/locks/install.py ENVIRONMENT_PYTHON LOCK_FILE

uv reads no configuration of pip, so it is given the package index, certificates and proxy that pip
is configured for. Without uv, or when it fails, pip installs the packages. Both check the hashes.
Only the standard library is imported: nothing is installed yet.
"""

import ast
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

UV = Path(sys.executable).with_name("uv")

VARIABLES = {
    "index-url": ("UV_DEFAULT_INDEX",),
    "extra-index-url": ("UV_INDEX",),
    "find-links": ("UV_FIND_LINKS",),
    "no-index": ("UV_NO_INDEX",),
    "trusted-host": ("UV_INSECURE_HOST",),
    "cert": ("SSL_CERT_FILE",),
    "client-cert": ("SSL_CLIENT_CERT",),
    "proxy": ("HTTP_PROXY", "HTTPS_PROXY"),
}
"""Setting of pip → variables of uv."""
PIP_ONLY = ("only-binary", "no-binary", "constraint", "keyring-provider")
"""Settings of pip with which pip installs the packages."""
SEPARATORS = {"UV_FIND_LINKS": ","}
"""Between several values; a space elsewhere, as in pip."""
SECTIONS = ("global.", "install.", ":env:.")
"""Where pip takes a setting from; the last one applies."""


def uv_variables(pip_settings: str) -> Mapping[str, str] | None:
    """Environment variables of uv, from the output of `pip config list`; None: pip must be used."""
    pairs = [line.partition("=")[::2] for line in pip_settings.splitlines()]
    chosen: dict[str, str] = {}
    for section in SECTIONS:
        for name, value in pairs:
            if name.startswith(section):
                chosen[name.removeprefix(section)] = str(ast.literal_eval(value))
    if not chosen.keys().isdisjoint(PIP_ONLY):
        return None
    return {
        variable: SEPARATORS.get(variable, " ").join(chosen[name].split())
        for name, variables in VARIABLES.items()
        if name in chosen
        for variable in variables
    }


def install(python: str, lock: str) -> int:
    """Install the packages of a lock file into the environment of an interpreter."""
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input")
    variables = None
    if UV.exists():
        variables = uv_variables(subprocess.check_output((*pip, "config", "list"), text=True))
    if variables is not None:
        command = (
            *(str(UV), "pip", "install", "--quiet", "--compile-bytecode", "--require-hashes"),
            *("--index-strategy=unsafe-best-match", "--python", python, "--requirements", lock),
        )
        environment = {**variables, **os.environ}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return 0
        reason = " ".join(done.stderr.split())[:200]
        print(f"setup: uv cannot install {lock}, pip is used instead: {reason}", file=sys.stderr)
    return subprocess.run(
        (*pip, "--python", python, "install", "--quiet", "--require-hashes", "-r", lock),
        check=False,
    ).returncode


if __name__ == "__main__":
    sys.exit(install(*sys.argv[1:]))
