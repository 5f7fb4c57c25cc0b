"""A service whose rows hold quotes, umlauts and line breaks."""

from pathlib import Path

from tests.query.lake import a_view, an_outbound_click
from tests.query.query_service import InProcessService, reused, start_service


@reused
def service(tmp_path: Path) -> InProcessService:
    running = start_service(tmp_path)
    running.holds(
        a_view('/a "quoted", über', visitor="u1"),
        a_view('/a "quoted", über', visitor="u2"),
        a_view("/b", visitor="u1"),
        an_outbound_click("https://x.example/p", "line\nbreak", at="2026-11-10T12:00:00.125Z"),
    )
    return running
