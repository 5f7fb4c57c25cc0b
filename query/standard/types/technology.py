"""Query types of page views by browser, operating system, screen and window."""

from collections.abc import Mapping

from msgspec import Struct

from query.engine.engine import Row
from query.prepared.forms import Breakdown, RollupPlan
from query.prepared.session_groups import GroupedSessions
from query.request.subject import SubjectKind
from query.sql.row_definitions import PAGE_VIEW
from query.standard.declaration.fields import Percent
from query.standard.declaration.query_type import QueryType
from query.standard.sql.grouped_rows import grouped_rows
from schemas.tables import EVENTS


class Screen(Struct, frozen=True):
    name: str
    pageviews: int
    visitors: int
    device_type: str
    percentage: Percent


class Browser(Struct, frozen=True):
    name: str
    browser_name: str
    browser_version: str
    pageviews: int
    visitors: int
    sessions: int


class PageviewShare(Struct, frozen=True):
    name: str
    pageviews: int
    visitors: int


class Viewport(Struct, frozen=True):
    viewport_size: str
    visitors: int
    pageviews: int
    device_type: str


class ViewportPattern(Struct, frozen=True):
    viewport_size: str
    visitors: int
    sessions: int
    percentage: Percent


DEVICE = "COALESCE(device_type, '')"
OS = "os_name || CASE WHEN os_version IS NULL THEN '' ELSE ' ' || os_version END"
VERSION = "COALESCE(browser_version, '')"
BROWSER = f"browser_name || CASE WHEN {VERSION} = '' THEN '' ELSE ' ' || {VERSION} END"


def technology_type(
    name: str,
    row: type[Struct],
    description: str,
    groups: Mapping[str, str],
    *,
    first: tuple[str, str] = ("visitors", "pageviews"),
    limit: int = 100,
    prepared: RollupPlan | None = None,
) -> QueryType:
    """Page views by groups, of which the first must be there."""
    return QueryType(
        name=name,
        description=description,
        subject=SubjectKind.WEBSITE,
        table=EVENTS,
        row=row,
        default_limit=limit,
        prepared=prepared,
        sql=grouped_rows(
            row,
            groups,
            where=f"{PAGE_VIEW} AND {next(iter(groups.values()))} IS NOT NULL",
            first=first,
        ),
    )


def screen_with_device(share: Row) -> Row:
    """The columns of `screen_resolution`."""
    screen, device, pageviews, visitors, *percentage = share
    return screen, pageviews, visitors, device, *percentage


def without_share(share: Row) -> Row:
    """A text, page views and visitors."""
    return share[:3]


TECHNOLOGY = (
    technology_type(
        "screen_resolution",
        Screen,
        "visitors and page views by size of the screen and device type",
        {"name": "screen_resolution", "device_type": DEVICE},
        prepared=Breakdown(("screen_resolution", "device_type"), screen_with_device),
    ),
    technology_type(
        "screen_resolutions",
        PageviewShare,
        "visitors and page views by size of the screen",
        {"name": "screen_resolution"},
        prepared=Breakdown(("screen_resolution",), without_share),
    ),
    technology_type(
        "browsers_grouped",
        Browser,
        "visitors and page views by browser and version, named together",
        {"name": BROWSER, "browser_name": "browser_name", "browser_version": VERSION},
        prepared=GroupedSessions(("browser_name", "browser_version")),
    ),
    technology_type(
        "os_versions",
        PageviewShare,
        "visitors and page views by operating system and version",
        {"name": OS},
        limit=25,
        prepared=Breakdown(("os_name", "os_version"), without_share, together=True),
    ),
    technology_type(
        "viewport_vs_resolution",
        Viewport,
        "visitors and page views by size of the window and device type",
        {"viewport_size": "viewport_size", "device_type": DEVICE},
        limit=200,
    ),
    technology_type(
        "viewport_patterns",
        ViewportPattern,
        "visitors and sessions by size of the window",
        {"viewport_size": "viewport_size"},
        first=("visitors", "sessions"),
        limit=50,
    ),
)
