"""The dashboards are what `make docs` writes, and each has panels with different queries."""

import json

import pytest

from deploy.docs.grafana_dashboards import DASHBOARDS, FOLDER, dashboard_text


@pytest.mark.parametrize("name", DASHBOARDS)
def test_the_file_is_what_would_be_generated(name: str) -> None:
    assert (FOLDER / f"dashboard-{name}.json").read_text() == dashboard_text(name)


@pytest.mark.parametrize("name", DASHBOARDS)
def test_panels_do_not_overlap(name: str) -> None:
    panels = json.loads(dashboard_text(name))["panels"]
    places = {(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels}

    assert len(places) == len(panels) == len(DASHBOARDS[name])
    assert all(
        len({target["refId"] for target in panel["targets"]}) == len(panel["targets"]) > 0
        for panel in panels
    )
