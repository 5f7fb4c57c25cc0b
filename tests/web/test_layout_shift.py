"""What loads takes the room that was left for it: nothing that is read moves."""

import json

import pytest

from tests.web.dashboard import Dashboard
from tests.web.test_accessibility import views

MOST = 0.1
"""What https://web.dev/articles/cls calls good."""
SHIFTS = """(() => {
  return new Promise((resolve) => {
    const all = [];
    const name = ({ node }) => node && (node.className || node.nodeName);
    new PerformanceObserver((list) => {
      for (const e of list.getEntries()) if (!e.hadRecentInput)
        all.push([e.value, e.sources.map(name).join(", ")]);
      resolve(JSON.stringify(all));
    }).observe({ type: "layout-shift", buffered: true });
    setTimeout(() => resolve(JSON.stringify(all)), 300);
  });
})()"""


@pytest.mark.parametrize("width", [360, 1280])
def test_no_view_shifts_while_it_loads(dashboard: Dashboard, width: int) -> None:
    dashboard.tab.set_size(width)
    dashboard.open("overview")
    shifts = {}
    for view in views(dashboard):
        dashboard.open(view)
        found = json.loads(dashboard.tab.js(SHIFTS))
        if sum(value for value, _ in found) > MOST:
            shifts[view] = found

    assert not shifts
