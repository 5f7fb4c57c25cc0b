"""Tables of ingest/PROTOCOLS.md: routes of other products, and the clients of the tests."""

import json
import re
import tomllib
from collections import Counter
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


OUTAGES = ("offline", "429", "503", "413")


def clients() -> Iterator[tuple[str, ...]]:
    """Product, client with its version, what is stored and dropped, and its events in outages."""
    titles = {protocol.product: protocol.title for protocol in PROTOCOLS}
    for client in tomllib.loads((CLIENTS / "clients.toml").read_text())["client"]:
        events = Counter(json.loads(row)["name"] for row in client["rows"]["events"])
        stored = [f"{name}{f' ({count})' if count > 1 else ''}" for name, count in events.items()]
        others = [
            f"{table} {len(rows)}" for table, rows in client["rows"].items() if table != "events"
        ]
        page = (CLIENTS / "browser" / f"{client['script']}.html").exists()
        version = version_of(client["package"], client["script"])
        variant = " (capture v1)" if client["script"].endswith("-v1") else ""
        yield (
            titles[client["product"]],
            f"{client['package']} {version}{variant}{', in Chromium' if page else ''}",
            "; ".join([", ".join(stored), *others]),
            ", ".join(client.get("dropped", ())),
            *(client.get("outages", {}).get(outage, "") for outage in OUTAGES),
            client.get("note", ""),
        )


def version_of(package: str, script: str) -> str:
    """The version of a package in the locks: of PyPI for a script in Python, else of npm."""
    npm: dict[str, str] = json.loads((CLIENTS / "npm/package.json").read_text())["dependencies"]
    if not (CLIENTS / f"python/{script}.py").exists():
        return npm[package]
    lock = (ROOT / "deploy/locks/clients.txt").read_text()
    [version] = re.findall(rf"^{re.escape(package)}==(\S+)", lock, re.MULTILINE)
    return str(version)
