"""Tables of ingest/PROTOCOLS.md: routes of other products, and the clients of the tests."""

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from ingest.protocols.all_protocols import PROTOCOLS

ROOT = Path(__file__).parents[2]
CLIENTS = ROOT / "tests/clients"


def routes() -> Iterator[tuple[str, str, str]]:
    """Product, paths that store, and paths that are only answered."""
    for protocol in PROTOCOLS:
        stored = [f"`{protocol.paths(route)[0]}`" for route in protocol.routes]
        answered = [f"`{protocol.paths(page)[0]}`" for page in protocol.pages]
        yield f"{protocol.title} (`{protocol.product}`)", " ".join(stored), " ".join(answered)


def clients() -> Iterator[tuple[str, str, str, str]]:
    """Product, client with its version, rows that a script stores, and what it drops."""
    titles = {protocol.product: protocol.title for protocol in PROTOCOLS}
    for client in tomllib.loads((CLIENTS / "clients.toml").read_text())["client"]:
        rows = ", ".join(f"{table} {len(rows)}" for table, rows in client["rows"].items())
        page = (CLIENTS / "browser" / f"{client['script']}.html").exists()
        version = version_of(client["package"], client["script"])
        variant = " (capture v1)" if client["script"].endswith("-v1") else ""
        yield (
            titles[client["product"]],
            f"{client['package']} {version}{variant}{', in Chromium' if page else ''}",
            rows,
            ", ".join(client.get("dropped", ())),
        )


def version_of(package: str, script: str) -> str:
    """The version of a package in the locks: of PyPI for a script in Python, else of npm."""
    npm: dict[str, str] = json.loads((CLIENTS / "npm/package.json").read_text())["dependencies"]
    if not (CLIENTS / f"python/{script}.py").exists():
        return npm[package]
    lock = (ROOT / "deploy/locks/clients.txt").read_text()
    [version] = re.findall(rf"^{re.escape(package)}==(\S+)", lock, re.MULTILINE)
    return str(version)
