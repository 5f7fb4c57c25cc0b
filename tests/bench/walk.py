"""`python -m tests.bench.walk`: the modules and functions that queries enter, warm and in process.

A reader of a query's journey has to follow them; the figures say whether the journey gets shorter.
"""

import sys
import threading
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any

from tests.query.lake import a_view
from tests.query.query_service import NOVEMBER, InProcessService, start_service

ROOT = str(Path(__file__).parents[2]) + "/"
SERVICE_FOLDERS = ("query/", "schemas/")
COUNT = {"field": "*", "aggregate": "count"}
REQUESTS: dict[str, tuple[str, dict[str, Any]]] = {
    "summary": ("/v1/query", {"parameters": ["summary"]}),
    "metrics": ("/v1/query/metrics", {"metrics": ["visits"], "dimensions": ["path"]}),
    "custom": ("/v1/query/custom", {"query": {"table": "events", "selects": [COUNT]}}),
}


def walk(service: InProcessService, path: str, body: dict[str, Any]) -> tuple[int, int, int]:
    """Modules, functions and calls of one request."""
    entered: list[tuple[str, str]] = []

    def note(frame: FrameType, event: str, _argument: object) -> None:
        name = frame.f_code.co_filename.removeprefix(ROOT)
        if event == "call" and name.startswith(SERVICE_FOLDERS) and frame.f_code.co_name[0] != "<":
            entered.append((name, frame.f_code.co_qualname))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        reply = service.ask("POST", path, body, website_id="shop")
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    assert reply.status == 200, reply.json
    return len({name for name, _ in entered}), len({*entered}), len(entered)


def main() -> None:
    """Print a line for each request, from stored rows."""
    with TemporaryDirectory() as folder:
        service = start_service(Path(folder), prepared_mb=0)
        service.holds(*(a_view(f"/{n}") for n in range(9)))
        for name, (path, body) in REQUESTS.items():
            walk(service, path, {**body, **NOVEMBER})
            modules, functions, calls = walk(service, path, {**body, **NOVEMBER})
            print(f"{name}: {modules} modules, {functions} functions, {calls} calls")
        service.close()


if __name__ == "__main__":
    main()
