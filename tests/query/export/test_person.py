"""Everything about one visitor or profile, as a zip of all tables."""

import io
import json
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from tests.query.export.export_requests import lines
from tests.query.lake import a_view, a_vital, an_engagement, an_error, an_event, an_identity
from tests.query.query_service import InProcessService, reused, start_service


@reused
def service(tmp_path: Path) -> InProcessService:
    running = start_service(tmp_path)
    running.holds(
        a_view("/old", at="2019-03-01T09:00:00Z", received="2026-11-10T09:00:00Z"),
        a_view("/a", at="2026-11-10T09:00:00Z"),
        an_event("bot", at="2026-11-11T09:00:00Z", is_bot=True),
        a_view("/other", visitor="u2", session="s2"),
        a_view("/named", visitor="u3", session="s3", profile_id="p1"),
        a_view("/of-another", visitor="u2", session="s4", profile_id="p9"),
        a_view("/theirs", website="rival"),
        a_vital("LCP", 1200),
        an_error("boom", visitor="u2"),
        an_engagement("/a"),
        an_identity("p9", visitor="u2", at="2026-11-09T09:00:00Z"),
        an_identity("p1", visitor="u2"),
        an_identity("p2", visitor="u1"),
    )
    return running


def exported(service: InProcessService, **query: str) -> dict[str, Any]:
    """The rows of each table, and `about`."""
    reply = service.ask("GET", "/v1/person/export", None, website_id="shop", **query)
    assert reply.status == 200, reply.body
    assert reply.headers["content-type"] == "application/zip"
    with ZipFile(io.BytesIO(reply.body)) as archive:
        assert archive.testzip() is None
        files = {name: archive.read(name) for name in archive.namelist()}
    about = json.loads(files.pop("about.json"))
    rows = {name[:-7]: lines(data) for name, data in files.items() if name.endswith(".ndjson")}
    for name, of_table in rows.items():
        assert files[f"{name}.csv"].count(b"\r\n") == 1 + len(of_table)  # a header
    assert about["rows"] == {name: len(of_table) for name, of_table in rows.items()}
    return {**rows, "about": about}


def test_a_visitor_is_exported_from_all_tables_of_all_time(service: InProcessService) -> None:
    files = exported(service, visitor="u1")

    assert [row["path"] for row in files["events"] if row["path"]] == ["/old", "/a"]
    assert [row["name"] for row in files["events"]] == ["screen_view", "screen_view", "bot"]
    assert files["about"]["rows"] == {
        "events": 3,
        "vitals": 1,
        "errors": 0,
        "engagement": 1,
        "identities": 1,
    }
    assert files["about"]["visitor"] == "u1"


def test_a_profile_is_exported_with_its_visitors_but_not_with_others_of_a_shared_device(
    service: InProcessService,
) -> None:
    files = exported(service, profile="p1")

    assert [row["path"] for row in files["events"]] == ["/other", "/named"]
    assert [row["message"] for row in files["errors"]] == ["boom"]
    assert [row["anonymous_id"] for row in files["identities"]] == ["u2"]


@pytest.mark.parametrize(
    "query", [{}, {"visitor": "u1", "profile": "p1"}, {"visitor": ""}], ids=repr
)
def test_one_person_is_named(service: InProcessService, query: dict[str, str]) -> None:
    reply = service.ask("GET", "/v1/person/export", None, website_id="shop", **query)

    assert reply.status == 400
    assert "Give either 'visitor'" in reply.json["error"]
