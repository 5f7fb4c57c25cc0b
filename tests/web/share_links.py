"""Links to shared dashboards, made on the page."""

from tests.web.dashboard import RANGE, Dashboard

PASSWORD = "correct horse"


def share(
    dashboard: Dashboard,
    name: str,
    password: str = "",
    origins: str = "",
    fixed: str = "country:eq:DE",
) -> str:
    """Fill in the form on the page, with a filter; the link that the page shows."""
    dashboard.open("shares", f=fixed)
    dashboard.type_into("input[name=name]", name)
    if password:
        dashboard.type_into("input[name=password]", password)
    if origins:
        dashboard.type_into("textarea[name=origins]", origins)
    assert "may still name other pages" in dashboard.text("p.notice")
    dashboard.press("Share this dashboard", "form")
    link, _, query = dashboard.text(".new-link pre").partition("?")
    assert query == f"period={RANGE}"
    return link


def until_unlisted(dashboard: Dashboard, name: str) -> None:
    """Wait until the list has no link with this name."""
    rows = "[...document.querySelectorAll('main tbody tr')]"
    dashboard.until(f"!{rows}.some((row) => row.innerText.includes('{name}'))")
