"""GET /v1/quarantine: why items of a website were not stored, with a sample of each reason."""

import base64
import binascii
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Literal

from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import Response

from query.dependencies import QUERY_ERRORS, QueryDependencies, QueryEndpoint
from query.engine.engine import Row, Sql
from query.engine.snapshots import PinnedVersions
from query.request.hidden_values import hidden_values
from query.request.query_string import strict_query_string
from query.resources.pagination import query_integer
from query.response.json_response import json_response
from query.sql.fragment import merge_values
from query.sql.select import Relation, Select, render
from schemas.errors import Malformed
from schemas.http import openapi
from schemas.http.auth import authorize_website
from schemas.kinds import ALL_KINDS
from schemas.lake.quarantine_reasons import REPLAY_PREFIX, remedy
from schemas.plans import Group
from schemas.registry import KeyScope, Website
from schemas.runtime.clock import format_instant
from schemas.tables import QUARANTINE
from schemas.tables.column import ROW_KEY

DAY_MS = 86_400_000
DEFAULT_DAYS, MAX_DAYS = 7, 366
MAX_REASONS = 100
MAX_SAMPLE_BYTES = 600
"""A multiple of three: so many bytes are whole characters of base64."""
SAMPLE_LENGTH = MAX_SAMPLE_BYTES // 3 * 4
NAMES = ("subject_id", "ts", "topic", *ROW_KEY, "stage", "reason", "payload")
COLUMNS = tuple(column for column in QUARANTINE.columns if column.name in NAMES)
PLACE = " || '/' || ".join(f"CAST(COALESCE({name}, 0) AS VARCHAR)" for name in ROW_KEY)
REASONS = f"""
    SELECT stage, reason, topic, items, replayed, first, last, sample,
           COUNT(*) OVER () AS reasons, SUM(items) OVER () AS all_items
    FROM (
        SELECT stage, reason, topic,
               COUNT(*) - COUNT(replay) AS items, COUNT(replay) AS replayed,
               MIN(UNIX_MS(ts)) AS first, MAX(UNIX_MS(ts)) AS last,
               LAST_BY(SUBSTRING(payload, 1, {SAMPLE_LENGTH}), ts) AS sample
        FROM quarantined
        LEFT JOIN (
            SELECT DISTINCT reason AS replay
            FROM quarantined
            WHERE reason LIKE '{REPLAY_PREFIX}%'
        ) AS replays ON replay = '{REPLAY_PREFIX}' || topic || '/' || {PLACE}
        WHERE reason NOT LIKE '{REPLAY_PREFIX}%'
        GROUP BY stage, reason, topic
    ) AS by_reason
    ORDER BY items DESC, stage, reason, topic
    LIMIT {MAX_REASONS}
"""  # noqa: S608 - numbers and texts of our own


class QuarantineReason(Struct, rename="camel"):
    """Items that were not stored for one reason."""

    stage: Annotated[
        str,
        Meta(
            description="decode, enrich or write: where they failed; duplicate: nothing failed, "
            "the same item was stored before"
        ),
    ]
    reason: str
    table: Annotated[str, Meta(description="the table that they were meant for")]
    items: int
    replayed: Annotated[int, Meta(description="further items, which were sent again since")]
    first_at: Annotated[str, Meta(description="when the first was received")]
    last_at: str
    sample: Annotated[
        str | None,
        Meta(description=f"the newest of them as JSON, cut after {MAX_SAMPLE_BYTES} bytes"),
    ]
    remedy: Annotated[str, Meta(description="what would mend them")]


class QuarantineMeta(Struct, rename="camel"):
    """What was read."""

    days: int
    since: str
    items: Annotated[int, Meta(description="of all reasons")]
    reasons: Annotated[int, Meta(description=f"the most frequent {MAX_REASONS} are listed")]


class QuarantineResponse(Struct):
    """The items of a website that were not stored, the most frequent reason first."""

    success: Literal[True]
    data: list[QuarantineReason]
    meta: QuarantineMeta


async def list_reasons(dependencies: QueryDependencies, request: Request) -> Response:
    """GET: of one website; items that do not tell their website are the operator's."""
    key = await dependencies.authorize(request, KeyScope.READ_DATA, Group.QUERY)
    website_id = request.query_params.get("website_id") or key.website_id
    if website_id is None:
        raise Malformed("'website_id' is missing in the query string, as in ?website_id=…")
    website = authorize_website(dependencies.registry, key, website_id)
    days = query_integer(request.query_params, "days", DEFAULT_DAYS, MAX_DAYS)
    since = dependencies.clock() - days * DAY_MS
    read = partial(_read, dependencies, website, since)
    rows = await dependencies.snapshots.with_pinned([QUARANTINE], None, read)
    reasons, items = (int(rows[0][-2]), int(rows[0][-1])) if rows else (0, 0)
    meta = QuarantineMeta(days, str(format_instant(since)), items, reasons)
    tombstones = dependencies.registry.tombstones
    # The keeper has not removed the payloads of a pending erasure yet.
    hidden = hidden_values(tombstones.unfinished, website.organization_id, (website.id,))
    shows_samples = not any(values.is_pending for values in hidden)
    topic_of = dependencies.table_offsets.topic
    tables = {topic_of(kind.topic): kind.table.name for kind in ALL_KINDS}
    data = [_reason(row if shows_samples else (*row[:7], None), tables) for row in rows]
    return json_response(QuarantineResponse(success=True, data=data, meta=meta))


async def _read(
    dependencies: QueryDependencies, website: Website, since_ms: int, pinned: PinnedVersions
) -> list[Row]:
    quarantine, now = pinned.of(QUARANTINE), dependencies.clock()
    data_files = quarantine.data_files([website.id], since_ms, now + DAY_MS)
    if not data_files:
        return []
    engine = dependencies.standard_limiter.for_tenant(website.organization_id)
    relation = await engine.relation(quarantine.version.with_files(data_files), COLUMNS)
    quarantined = Relation(
        name="quarantined",
        source=relation.text,
        columns=("ts", "topic", *ROW_KEY, "stage", "reason", "payload"),
        conditions=("subject_id = $website", "ts >= $since"),
    )
    own = {"website": website.id, "since": datetime.fromtimestamp(since_ms / 1000, UTC)}
    select = Select(relations=(quarantined,), body=REASONS)
    sql = Sql(render(select, engine.dialect), merge_values(relation.values, own))
    return list(await engine.rows(sql, dependencies.timeout_seconds))


def _reason(row: Row, tables: Mapping[str, str]) -> QuarantineReason:
    """A row as a response shows it; `tables` are by topic."""
    stage, reason, topic, items, replayed, first, last, sample, *_ = row
    return QuarantineReason(
        stage=stage,
        reason=reason,
        table=tables.get(topic, topic),
        items=items,
        replayed=replayed,
        first_at=str(format_instant(first)),
        last_at=str(format_instant(last)),
        sample=_sample_text(sample),
        remedy=remedy(stage, reason),
    )


def _sample_text(payload: str | None) -> str | None:
    """The beginning of an item as text, from base64 of it."""
    try:
        item = base64.b64decode(payload or "", validate=True)
    except binascii.Error:
        return None
    text = item.decode(errors="replace")
    return (f"{text}…" if len(item) == MAX_SAMPLE_BYTES else text) or None


ENDPOINTS = (
    strict_query_string(
        QueryEndpoint(
            list_reasons,
            openapi.Operation(
                method="GET",
                path="/v1/quarantine",
                operation_id="listQuarantine",
                tag="Websites",
                summary="List why items of a website were not stored, the most frequent first",
                description="Items that the collector accepted and a worker did not store: those "
                "that cannot be decoded or enriched, and duplicates. Items that the collector "
                "refuses are named in its response.",
                parameters=(
                    openapi.Parameter(
                        "website_id",
                        "the website; default: that of a key which is restricted to one",
                    ),
                    openapi.Parameter(
                        "days",
                        "items that were received in the last days",
                        {
                            "type": "integer",
                            "minimum": 1,
                            "maximum": MAX_DAYS,
                            "default": DEFAULT_DAYS,
                        },
                    ),
                ),
                responses=(openapi.Response(200, "the reasons", QuarantineResponse),),
                errors=QUERY_ERRORS,
            ),
        )
    ),
)
