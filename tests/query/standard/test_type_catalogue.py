"""GET /v1/query/types tells what each type takes."""

from pathlib import Path

from tests.query.query_service import start_service


def test_filters_on_visits_are_told_apart_from_those_on_rows(tmp_path: Path) -> None:
    service = start_service(tmp_path)

    configs = service.ask("GET", "/v1/query/types", include_meta="true").json["configs"]

    summary, links = configs["summary"], configs["link_top_referrers"]
    assert {"visit.channel", "channel", "visit.entry_page"} <= set(summary["visitFilters"])
    assert not {"event.channel", "path", "country"} & set(summary["visitFilters"])
    assert {"event.channel", "path", *summary["visitFilters"]} <= set(summary["allowedFilters"])
    assert "event.channel" not in configs["recent_errors"]["allowedFilters"]
    assert "referrer" in links["allowedFilters"]
    assert links["visitFilters"] == []
