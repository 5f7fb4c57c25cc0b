"""Browsers with their version."""

from tests.query.lake import a_view
from tests.query.query_service import InProcessService


def test_browsers_are_named_with_their_version(service: InProcessService) -> None:
    service.holds(
        a_view("/", browser_name="Chrome", browser_version="140"),
        a_view("/", browser_name="Chrome", browser_version="140", visitor="u2", session="s2"),
        a_view("/", browser_name="Safari"),
    )

    assert [tuple(row.values()) for row in service.rows("browsers_grouped")] == [
        ("Chrome 140", "Chrome", "140", 2, 2, 2),
        ("Safari", "Safari", "", 1, 1, 1),
    ]
