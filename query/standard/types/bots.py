"""Query types of bots: who they are, what they are for, which pages they read and when.

They read the rows that all others leave out. A reason `purpose: name` is what the stream stored.
"""

from msgspec import Struct

from query.request.subject import SubjectKind
from query.sql.row_definitions import PAGE_VIEW
from query.standard.declaration.fields import Date, Instant
from query.standard.declaration.query_type import QueryType
from schemas.tables import CLICKS, EVENTS


class BotTotals(Struct, frozen=True):
    name: str
    purpose: str
    events: int
    pageviews: int
    pages: int
    first_seen: Instant
    last_seen: Instant


class BotPage(Struct, frozen=True):
    path: str
    name: str
    purpose: str
    events: int
    last_seen: Instant


class BotsOfBucket(Struct, frozen=True):
    date: Date
    events: int
    ai_events: int
    search_events: int
    bots: int


class LinkBot(Struct, frozen=True):
    name: str
    purpose: str
    clicks: int
    first_seen: Instant
    last_seen: Instant


REASON = "COALESCE(bot_reason, '')"
PURPOSE = f"""CASE
                       WHEN STRPOS({REASON}, ': ') = 0 THEN {REASON}
                       ELSE SUBSTR({REASON}, 1, STRPOS({REASON}, ': ') - 1)
                   END"""
NAME = f"""CASE
                       WHEN STRPOS({REASON}, ': ') = 0 THEN ''
                       ELSE SUBSTR({REASON}, STRPOS({REASON}, ': ') + 2)
                   END"""

BOTS = (
    QueryType(
        name="bots",
        description="events, page views and pages of bots and AI crawlers by name and purpose, and "
        "when each was first and last there; of bots alone",
        subject=SubjectKind.WEBSITE,
        table=EVENTS,
        row=BotTotals,
        only_bots=True,
        sql=f"""
            SELECT {NAME}                AS label,
                   {PURPOSE}             AS purpose,
                   COUNT(*)              AS events,
                   COUNT(CASE WHEN {PAGE_VIEW} THEN 1 END) AS pageviews,
                   COUNT(DISTINCT path)  AS pages,
                   MIN(ms)               AS first_seen,
                   MAX(ms)               AS last_seen
              FROM scoped
             WHERE is_bot
             GROUP BY {REASON}
             ORDER BY events DESC, purpose, label
        """,  # noqa: S608
    ),
    QueryType(
        name="bot_pages",
        description="events of bots and AI crawlers by page, name and purpose; of bots alone",
        subject=SubjectKind.WEBSITE,
        table=EVENTS,
        row=BotPage,
        only_bots=True,
        sql=f"""
            SELECT path                  AS page_path,
                   {NAME}                AS label,
                   {PURPOSE}             AS purpose,
                   COUNT(*)              AS events,
                   MAX(ms)               AS last_seen
              FROM scoped
             WHERE is_bot AND path IS NOT NULL
             GROUP BY path, {REASON}
             ORDER BY events DESC, page_path, purpose, label
        """,  # noqa: S608
    ),
    QueryType(
        name="bots_time_series",
        description="events of bots of each bucket, those of AI crawlers and assistants and of "
        "search engines, and the number of different bots; of bots alone",
        subject=SubjectKind.WEBSITE,
        table=EVENTS,
        row=BotsOfBucket,
        only_bots=True,
        sql=f"""
            SELECT bucket,
                   COUNT(*)                                                     AS events,
                   COUNT(CASE WHEN STRPOS({REASON}, 'ai ') = 1 THEN 1 END)      AS ai_events,
                   COUNT(CASE WHEN STRPOS({REASON}, 'search: ') = 1 THEN 1 END) AS search_events,
                   COUNT(DISTINCT {REASON})                                     AS bots
              FROM scoped
             WHERE is_bot
             GROUP BY bucket
             ORDER BY bucket
        """,  # noqa: S608
    ),
    QueryType(
        name="link_bots",
        description="clicks of bots, link previews and mail scanners on a short link, by name and "
        "purpose; of bots alone",
        subject=SubjectKind.LINK,
        table=CLICKS,
        row=LinkBot,
        only_bots=True,
        sql=f"""
            SELECT {NAME}                AS label,
                   {PURPOSE}             AS purpose,
                   COUNT(*)              AS clicks,
                   MIN(ms)               AS first_seen,
                   MAX(ms)               AS last_seen
              FROM scoped
             WHERE is_bot
             GROUP BY {REASON}
             ORDER BY clicks DESC, purpose, label
        """,  # noqa: S608
    ),
)
