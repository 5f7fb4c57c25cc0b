"""Totals of another product on a running installation: stored, undone, compared with events."""

from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from deploy.cli import main
from tests.flow.tenant import Tenant
from tests.flow.test_imports import tidemark
from tests.installation import Installation, eventually

pytestmark = pytest.mark.long

EVENTS = """\
timestamp,name,path,anonymous_id,session_id,referrer,is_bot
2019-03-01T10:00:00Z,pageview,https://shop.example/,a,s1,,
2019-03-01T10:01:00Z,pageview,https://shop.example/a,a,s1,,
2019-03-01T12:00:00Z,pageview,https://shop.example/,bot,s3,,true
2019-03-01T23:50:00Z,pageview,https://shop.example/,b,s2,,
2019-03-02T00:05:00Z,pageview,https://shop.example/a,b,s2,,
2019-03-02T09:00:00Z,pageview,https://shop.example/,d,s4,https://www.google.com/,
never,pageview,https://shop.example/,d,s4,,
"""
TOTALS = {
    "imported_visitors": "date,visitors,pageviews,visits\n2019-03-01,3,4,3\n2019-03-02,2,2,2\n"
    "2019-03-03,1,1,1\n",
    "imported_pages": "date,page,visitors,pageviews\n2019-03-01,/,3,3\n2019-03-01,/a,1,1\n"
    "2019-03-02,/,1,1\n2019-03-02,/a,1,1\n",
    "imported_sources": "date,source,visitors,visits\n2019-03-01,,3,3\n2019-03-02,Google,1,1\n",
}


@pytest.fixture(scope="module")
def totals_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("totals") / "plausible.zip"
    with ZipFile(path, "w") as archive:
        for name, text in TOTALS.items():
            archive.writestr(f"{name}.csv", text)
    return path


def test_totals_are_stored_and_undone(stack: Installation, totals_file: Path) -> None:
    tenant = Tenant.create(stack)

    done = tidemark(stack, "import", str(totals_file), "--website", tenant.website.id)
    shown = tidemark(stack, "import", "show", done["id"])
    undone = tidemark(stack, "import", "undo", done["id"], "--yes")

    assert (done["rows"], done["accepted"], done["rejected"]) == (9, 9, 0)
    assert (shown["state"], shown["stored"]) == ("done", 9)
    assert (undone["state"], undone["removed"]) == ("undone", 9)
    assert tidemark(stack, "import", "show", done["id"])["stored"] == 0


def test_totals_are_compared_with_the_events_of_the_website(
    stack: Installation,
    totals_file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Ours leaves a bot out, counts the visit over midnight once, and has no 3rd of March.

    In Berlin the page view of 23:50 is one of the 2nd of March.
    """
    tenant, path = Tenant.create(stack), tmp_path / "events.csv"
    path.write_text(EVENTS)
    monkeypatch.setenv("TIDEMARK_API_KEY", tenant.key)
    imported = tidemark(stack, "import", str(path), "--website", tenant.website.id)
    assert (imported["accepted"], imported["stored"]) == (6, 6)

    def reconciled(*arguments: str) -> dict[str, Any]:
        return tidemark(stack, "reconcile", str(totals_file), tenant.website.id, *arguments)

    eventually(lambda: reconciled()["explanations"]["botPageViews"] == 1)
    found, in_berlin = reconciled(), reconciled("--zone", "Europe/Berlin")

    def row(
        kind: str, value: str, count: str, theirs: int, ours: int, percent: float
    ) -> dict[str, Any]:
        return {
            "kind": kind,
            "value": value,
            "count": count,
            "theirs": theirs,
            "ours": ours,
            "difference": ours - theirs,
            "percent": percent,
            "explainedBy": [],
        }

    nothing = {"explainedBy": ["no events are stored for this day"]}
    assert {name: found[name] for name in ("product", "from", "to", "timezone")} == {
        "product": "Plausible",
        "from": "2019-03-01",
        "to": "2019-03-03",
        "timezone": "UTC",
    }
    assert found["rows"] == [
        row("day", "2019-03-01", "page_views", 4, 3, -25.0) | {"explainedBy": ["4 with bots"]},
        row("day", "2019-03-01", "visits", 3, 2, -33.3) | {"explainedBy": ["3 with bots"]},
        row("day", "2019-03-01", "visitors", 3, 2, -33.3) | {"explainedBy": ["3 with bots"]},
        row("day", "2019-03-02", "page_views", 2, 2, 0.0),
        row("day", "2019-03-02", "visits", 2, 1, -50.0)
        | {"explainedBy": ["2 with visits that began the day before"]},
        row("day", "2019-03-02", "visitors", 2, 2, 0.0),
        row("day", "2019-03-03", "page_views", 1, 0, -100.0) | nothing,
        row("day", "2019-03-03", "visits", 1, 0, -100.0) | nothing,
        row("day", "2019-03-03", "visitors", 1, 0, -100.0) | nothing,
        row("page", "/", "page_views", 4, 3, -25.0) | {"explainedBy": ["4 with bots"]},
        row("page", "/a", "page_views", 2, 2, 0.0),
        row("source", "Direct", "visits", 3, 2, -33.3) | {"explainedBy": ["3 with bots"]},
        row("source", "Google", "visits", 1, 1, 0.0),
    ]
    assert found["explanations"] == {
        "differencesByZone": {"UTC": 2},
        "botPageViews": 1,
        "visitsOverMidnight": 1,
        "daysWithoutData": ["2019-03-03"],
        "rejectedLines": 1,
    }
    with monkeypatch.context() as within:
        for name, value in stack.environment.items():
            within.setenv(name, value)
        main(["reconcile", str(totals_file), tenant.website.id, "--to", "2019-03-01"])
    table = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert table[:2] == [
        ["kind", "value", "count", "theirs", "ours", "difference", "percent", "explainedBy"],
        ["day", "2019-03-01", "page_views", "4", "3", "-1", "-25.0", "4", "with", "bots"],
    ]
    assert " ".join(table[-2]) == "bots: 1 page views of bots are left out"
    assert " ".join(table[-1]) == "imports: 1 lines were rejected, and are not stored"
    assert in_berlin["explanations"]["differencesByZone"] == {"Europe/Berlin": 4, "UTC": 2}
    assert in_berlin["rows"][0] == (
        row("day", "2019-03-01", "page_views", 4, 2, -50.0)
        | {"explainedBy": ["3 with bots", "3 in UTC"]}
    )
