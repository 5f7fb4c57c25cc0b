"""Validates saved records: what the types of their fields cannot say.

Raises Malformed with the field and the rule.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache, singledispatch
from importlib.resources import files
from ipaddress import ip_network
from math import isfinite
from typing import Any, TypeVar

import msgspec
from msgspec import structs
from msgspec.structs import replace

from query.custom.request import MAX_DAYS, CustomRequest
from query.custom.tables import CUSTOM_TABLES
from query.custom.validation import validate as validate_custom_query
from query.metrics.request import MetricsRequest, parse_request
from query.metrics.terms import MetricTerm
from query.notify.channels import check_channel_address
from query.request.body import convert
from query.request.comparison_range import comparison_range
from query.request.filter_struct import flatten
from query.request.filters import Filter, FilterField, VisitorTarget, compile_conditions
from query.request.property_path import is_property, parse_property
from query.request.segments import expand_segments
from query.request.subject import QuerySubject, SubjectKind
from query.request.suggestions import shorten
from query.request.time_parameters import DATE_PATTERN, parse_date, parse_time_range
from query.request.time_range import FIRST_DAY, LAST_DAY, check_time_zone
from query.sql.event_condition import WILDCARD
from query.standard.query_types import find_query_type
from query.standard.request import StandardRequestBody
from query.standard.request import parse_request as parse_standard_request
from query.standard.sql.breakdown import parse_breakdown
from query.standard.sql.steps import FIELDS as STEP_FIELDS
from query.standard.sql.steps import resolve_step, step_condition
from query.standard.types.funnel import FunnelOptions
from schemas.errors import Malformed
from schemas.registry import (
    Alert,
    Alias,
    Annotation,
    Board,
    Channel,
    ErrorStatus,
    Exploration,
    Funnel,
    Goal,
    MoneyProperty,
    PathGroup,
    Report,
    SavedRecord,
    SavedRecords,
    Segment,
    Share,
    Shield,
)
from schemas.registry.allowed_origins import validate_origins
from schemas.registry.channel_secrets import open_channel_field
from schemas.registry.currencies import CURRENCIES
from schemas.registry.link_validation import validate_text, validate_url
from schemas.registry.saved_records import BoardTile, FilterList
from schemas.registry.sealing import InvalidSealedText
from schemas.registry.tracker_ids import validate_alias_name
from schemas.registry.unseen_text import refuse_null, require_seen
from schemas.registry.validation import validate_name
from schemas.runtime.clock import format_instant, parse_instant_ms
from schemas.runtime.mail_access import single_address
from schemas.tables import CLICKS

MAX_FILTERS_BYTES = 16_384
"""Filters, steps or a query of a record as JSON: every process has all records in memory."""

ALERT_QUERIES = ("metrics_query", "custom_query", "standard_query")
BOUNDS = ("above", "below")
"""Conditions that need a threshold."""
UNUSUAL = ("spike", "drop")
"""Conditions about the usual range, which 14 more queries find out."""
POSITIVE = ("rises", "falls", *UNUSUAL)
MAX_ADDRESS_LENGTH = 254

_QUIET_HOURS = re.compile(r"([01]\d|2[0-3]):[0-5]\d-([01]\d|2[0-3]):[0-5]\d", re.ASCII)
ANY_RANGE = "today"
ANY_CURRENCY = "EUR"

SavedT = TypeVar("SavedT", bound=SavedRecord)
BodyT = TypeVar("BodyT", MetricsRequest, CustomRequest)


def validate_record(record: SavedT) -> SavedT:
    """The record with its fields validated and in their normal form."""
    refuse_null("", msgspec.to_builtins(record))
    return _validate(record)  # type: ignore[return-value]  # each returns the class it is given


@singledispatch
def _validate(record: SavedRecord) -> SavedRecord:
    raise TypeError(f"{type(record).__name__} has no validation")


@_validate.register
def _goal(goal: Goal) -> Goal:
    if (goal.event is None) is (goal.path is None):
        raise Malformed("A goal has either 'event' or 'path'; give one of them")
    _check_filters(goal.filters, STEP_FIELDS, "table 'events'")
    _check_property("valueProperty", goal.value_property)
    return replace(goal, name=validate_name("name", goal.name))


@_validate.register
def _segment(segment: Segment) -> Segment:
    if not segment.filters:
        raise Malformed("'filters' is empty; a segment has at least one filter")
    try:
        _check_filters(
            segment.filters,
            CUSTOM_TABLES["events"].fields,
            "table 'events'",
            CUSTOM_TABLES["events"].visitors,
        )
    except Malformed:
        if not _fits_another_table(segment.filters):
            raise
    return replace(
        segment,
        name=validate_name("name", segment.name),
        description=_stripped("description", segment.description),
    )


@_validate.register
def _path_group(group: PathGroup) -> PathGroup:
    for i, path in enumerate(group.paths):
        if not path.startswith(("/", WILDCARD)):
            raise Malformed(
                f"'paths[{i}]' is '{shorten(path)}'; begin it with '/', or with '*', which stands "
                "for any characters"
            )
        require_seen(f"paths[{i}]", path)
    return replace(group, name=validate_name("name", group.name))


@_validate.register
def _annotation(annotation: Annotation) -> Annotation:
    start = _moment("start", annotation.start)
    end = None if annotation.end is None else _moment("end", annotation.end)
    if end is not None and len(end) != len(start):
        raise Malformed("'start' and 'end' must both be dates, or both be instants")
    if end is not None and end < start:
        raise Malformed(f"'end' is {end}, which is before 'start' {start}")
    return replace(
        annotation,
        start=start,
        end=end,
        text=validate_text("text", annotation.text, 1000),
        link=validate_url("link", annotation.link) if annotation.link else None,
    )


@_validate.register
def _money_property(money: MoneyProperty) -> MoneyProperty:
    if (money.currency is None) is (money.currency_property is None):
        raise Malformed(
            "A money property has either 'currency' or 'currencyProperty'; give one of them"
        )
    if money.currency is not None and money.currency.upper() not in CURRENCIES:
        raise Malformed(f"'currency' is '{money.currency}'; give a code of ISO 4217, such as EUR")
    _check_property("property", money.property)
    _check_property("currencyProperty", money.currency_property)
    return replace(
        money,
        name=validate_name("name", money.name),
        currency=money.currency.upper() if money.currency else None,
    )


@_validate.register
def _funnel(funnel: Funnel) -> Funnel:
    for name in ("steps", "exclusions"):
        _check_size(name, getattr(funnel, name))
    options = convert(
        {
            "steps": funnel.steps,
            "window": funnel.window,
            "by": funnel.by,
            "breakdown": funnel.breakdown,
            "order": funnel.order,
            "exclusions": funnel.exclusions,
        },
        FunnelOptions,
        "",
    )
    parse_breakdown(options)
    for name, steps in (("steps", options.steps), ("exclusions", options.exclusions)):
        for i, step in enumerate(steps):
            at = f"{name}[{i}]"
            require_seen(f"{at}.label", step.label or "")
            step_condition(resolve_step(step, _AnySaved(), at), at, "step")
    return replace(funnel, name=validate_name("name", funnel.name))


@_validate.register
def _alias(alias: Alias) -> Alias:
    tee_url = validate_url("teeUrl", alias.tee_url) if alias.tee_url else None
    name = validate_alias_name(alias.product, validate_name("name", alias.name))
    return replace(alias, name=name, tee_url=tee_url)


@_validate.register
def _exploration(exploration: Exploration) -> Exploration:
    metrics_query, custom_query = exploration.metrics_query, exploration.custom_query
    if (metrics_query is None) is (custom_query is None):
        raise Malformed(
            "An exploration has either 'metricsQuery' or 'customQuery'; give one of them"
        )
    if metrics_query is not None:
        _check_size("metricsQuery", metrics_query)
        _check_metrics_query(exploration, convert(metrics_query, MetricsRequest, ""))
    if custom_query is not None:
        _check_size("customQuery", custom_query)
        _check_custom_query(exploration, convert(custom_query, CustomRequest, ""))
    return replace(
        exploration,
        name=validate_name("name", exploration.name),
        description=_stripped("description", exploration.description),
    )


@_validate.register
def _channel(channel: Channel) -> Channel:
    """Address and token are sealed; `check_channel` sees what they hold."""
    if channel.kind == "telegram" and (channel.token is None or not channel.chat):
        raise Malformed(
            "'token' and 'chat' are needed for telegram: the token of the bot, and the id of the "
            "chat that it writes to"
        )
    if channel.address is None:
        raise Malformed("'address' is missing: the URL that takes the messages")
    return replace(
        channel, name=validate_name("name", channel.name), chat=_stripped("chat", channel.chat)
    )


def check_channel(record: SavedRecord, secret: bytes) -> None:
    """Malformed unless a channel has what its product needs; other records have no secrets."""
    if not isinstance(record, Channel):
        return
    try:
        address = open_channel_field(record.address, secret)
        token = open_channel_field(record.token, secret)
    except InvalidSealedText:
        raise Malformed(
            "'address' and 'token' cannot be read after a restore; create the channel anew"
        ) from None
    check_channel_address(record.kind, address, token, record.chat or "")


@_validate.register
def _alert(alert: Alert) -> Alert:
    named = {name: getattr(alert, name) for name in (*ALERT_QUERIES, "signal")}
    count = sum(value is not None for value in named.values())
    if count > 1 or (count == 0 and alert.condition != "nothing"):
        raise Malformed(
            "An alert has one of 'metricsQuery', 'customQuery', 'standardQuery' and 'signal'; "
            "only the condition 'nothing' may have none of them"
        )
    _check_alert_query(alert)
    if alert.signal is not None and alert.condition not in BOUNDS:
        raise Malformed(f"'condition' of '{alert.signal}' is above or below, not {alert.condition}")
    if alert.condition in BOUNDS and alert.threshold is None:
        raise Malformed(f"'threshold' is missing: the number for '{alert.condition}'")
    if alert.threshold is not None and not isfinite(alert.threshold):
        raise Malformed("'threshold' must be a number")
    if alert.condition in POSITIVE and alert.threshold is not None and alert.threshold <= 0:
        raise Malformed(f"'threshold' is {alert.threshold}; it is above 0 for '{alert.condition}'")
    if alert.condition in UNUSUAL and alert.every == "quarter_hour":
        raise Malformed(f"'every' of the condition '{alert.condition}' is hour, day or week")
    if alert.quiet_hours is not None and not _QUIET_HOURS.fullmatch(alert.quiet_hours):
        raise Malformed(f"'quietHours' is '{alert.quiet_hours}'; give two times, as 22:00-07:00")
    if alert.quiet_hours is not None and alert.quiet_hours[:5] == alert.quiet_hours[6:]:
        raise Malformed("'quietHours' begin and end at one time; leave them out for none")
    muted_until = alert.muted_until
    if muted_until is not None:
        muted_until = format_instant(_instant_ms("mutedUntil", muted_until))
    return replace(
        alert,
        name=validate_name("name", alert.name),
        column=_stripped("column", alert.column),
        muted_until=muted_until,
        recipients=_recipients(alert.recipients),
        channels=tuple(dict.fromkeys(alert.channels)),
    )


@_validate.register
def _board(board: Board) -> Board:
    for i, members in enumerate(board.tiles):
        tile = msgspec.convert(members, BoardTile)
        shown = (tile.exploration, tile.card, tile.text)
        if sum(value is not None for value in shown) != 1:
            raise Malformed(f"'tiles[{i}]' has one of 'exploration', 'card' and 'text'")
        require_seen(f"tiles[{i}].text", tile.text or "")
        require_seen(f"tiles[{i}].title", tile.title or "")
    return replace(board, name=validate_name("name", board.name))


@_validate.register
def _error_status(status: ErrorStatus) -> ErrorStatus:
    if status.status == "ignored" and status.release is not None:
        raise Malformed("'release' is of 'resolved' errors; give null for ignored ones")
    return status


@_validate.register
def _shield(shield: Shield) -> Shield:
    value = validate_text("value", shield.value, 2048)
    if shield.kind == "address":
        value = _network(value)
    elif shield.kind == "country":
        value = value.upper()
        if value not in country_codes():
            raise Malformed(f"'value' is '{value[:40]}'; give a code of ISO 3166, such as DE")
    elif not value.strip("*/.") and (shield.kind != "path" or "*" in value):
        raise Malformed(f"'value' is '{value[:40]}', which matches everything; give some text")
    elif shield.kind == "path" and (value[0] not in "/*" or not {*"?#"}.isdisjoint(value)):
        raise Malformed(
            f"'value' is '{value[:40]}'; a path begins with / or *, and has neither ? nor #"
        )
    elif shield.kind == "path":
        value = value.rstrip("/") or "/"  # paths are stored without a slash at the end
    elif shield.kind in ("host", "referrer"):
        value = value.lower()
        if re.search(r"[/:\s]", value):
            raise Malformed(f"'value' is '{value[:40]}'; give a host name, such as *.example.com")
    return replace(shield, name=validate_name("name", shield.name), value=value)


def _network(text: str) -> str:
    """The normal form of a network that is not narrower than an address is kept."""
    try:
        network = ip_network(text, strict=False)
    except ValueError:
        raise Malformed(
            f"'value' is '{text[:60]}'; give a network, such as 203.0.113.0/24"
        ) from None
    widest = 24 if network.version == 4 else 48
    if network.prefixlen > widest:
        wider = network.supernet(new_prefix=widest)
        raise Malformed(
            f"'value' is '{text[:60]}', but the collector cuts addresses to /{widest}; give {wider}"
        )
    if not network.prefixlen:
        raise Malformed(f"'value' is '{text[:60]}', which matches everything; give a network")
    return str(network)


@cache
def country_codes() -> frozenset[str]:
    """The codes of ISO 3166, from the time zone database."""
    lines = (files("tzdata") / "zoneinfo" / "iso3166.tab").read_text("utf-8").splitlines()
    return frozenset(line[:2] for line in lines if line and not line.startswith("#"))


@_validate.register
def _report(report: Report) -> Report:
    _check_filters(
        report.filters,
        CUSTOM_TABLES["events"].fields,
        "table 'events'",
        CUSTOM_TABLES["events"].visitors,
    )
    return replace(
        report,
        name=validate_name("name", report.name),
        explorations=tuple(dict.fromkeys(report.explorations)),
        recipients=_recipients(report.recipients),
        channels=tuple(dict.fromkeys(report.channels)),
    )


def _check_alert_query(alert: Alert) -> None:
    """Malformed unless its query can be asked, about one number where the condition needs one."""
    has_groups, rows = False, alert.condition == "new"
    if alert.metrics_query is not None:
        _check_size("metricsQuery", alert.metrics_query)
        metrics = convert(alert.metrics_query, MetricsRequest, "")
        _check_metrics_query(alert, metrics)
        has_groups = bool(metrics.dimensions)
    elif alert.custom_query is not None:
        _check_size("customQuery", alert.custom_query)
        custom = convert(alert.custom_query, CustomRequest, "")
        _check_custom_query(alert, custom)
        if custom.query.table == CLICKS.name:
            raise Malformed("'customQuery.query.table' is 'clicks', which no alert watches")
        has_groups = bool(custom.query.group_by)
    elif alert.standard_query is not None:
        _check_size("standardQuery", alert.standard_query)
        _check_standard_query(alert, convert(alert.standard_query, StandardRequestBody, ""))
        return
    if has_groups is not rows:
        problem = "one number: leave dimensions out" if has_groups else "rows: give dimensions"
        raise Malformed(f"The condition '{alert.condition}' is about {problem}")


def _check_standard_query(alert: Alert, body: StandardRequestBody) -> None:
    subject = QuerySubject(
        SubjectKind.WEBSITE, (alert.website_id,), alert.organization_id, saved=_AnySaved()
    )
    parsed = parse_standard_request(
        replace(body, start_date=None, end_date=None, preset=ANY_RANGE),
        subject,
        None,
        alert.updated_at,
    )
    if len(parsed.queries) != 1:
        raise Malformed("'standardQuery.parameters' has one query type for an alert")
    if body.as_of is not None:
        raise Malformed("'asOf' names versions that are kept for minutes; leave it out")
    find_query_type(parsed.queries[0].name, SubjectKind.WEBSITE)


def _recipients(addresses: tuple[str, ...]) -> tuple[str, ...]:
    """E-mail addresses in their normal form, each once."""
    normal: dict[str, None] = {}
    for i, address in enumerate(addresses):
        text = address.strip()
        if not text.isascii() or len(text) > MAX_ADDRESS_LENGTH or single_address(text) is None:
            raise Malformed(f"'recipients[{i}]' is '{text[:60]}', which is no e-mail address")
        normal[single_address(text).addr_spec.lower()] = None  # type: ignore[union-attr]
    return tuple(normal)


def _stripped(field: str, text: str | None) -> str | None:
    if text is not None and text.strip():
        require_seen(field, text)
    return text.strip() or None if text else None


def _check_metrics_query(record: SavedRecord, body: MetricsRequest) -> None:
    """Malformed unless the endpoint would take it, given what it names of saved records."""
    terms = [term for term in body.metrics if isinstance(term, MetricTerm)]
    currencies = list(dict.fromkeys(term.currency for term in terms if term.currency))
    subject = QuerySubject(
        SubjectKind.WEBSITE,
        (record.website_id,),
        record.organization_id,
        saved=_AnySaved({money.id: money for money in _any_money(currencies or [ANY_CURRENCY])}),
    )
    _refuse_versions(body)
    parse_request(_with_range(body), subject, None, record.updated_at)


def _check_custom_query(record: SavedRecord, body: CustomRequest) -> None:
    """Malformed unless the endpoint would take it, given what it names of saved records."""
    filters = expand_segments(body.query.filters, _AnySaved(), "query.filters")
    validated = validate_custom_query(replace(body.query, filters=filters))
    _refuse_versions(body)
    body, now_ms = _with_range(body), record.updated_at
    zone = check_time_zone("timezone", body.timezone or "UTC")
    dates = (body.start_date, body.end_date, body.preset)
    time_range = parse_time_range(*dates, zone, now_ms, MAX_DAYS)
    if validated.granularity is not None:
        time_range.points(validated.granularity)  # Malformed for too many
    if body.compare is not None:
        comparison_range(body.compare, time_range, now_ms, MAX_DAYS, body.preset)


def _refuse_versions(body: MetricsRequest | CustomRequest) -> None:
    if body.as_of is not None:
        raise Malformed("'asOf' names versions that are kept for minutes; leave it out")


def _with_range(body: BodyT) -> BodyT:
    """The body with a short time range, if it has none: it gets one when it is asked."""
    has_range = any(each is not None for each in (body.start_date, body.end_date, body.preset))
    return body if has_range else replace(body, preset=ANY_RANGE)


def _any_money(currencies: Sequence[str]) -> Sequence[MoneyProperty]:
    """A money property of each currency, each of an event of its own."""
    return [
        MoneyProperty(
            id=currency, organization_id="", website_id="", created_at=0, updated_at=0,
            name=currency, event=currency, property="properties.any", currency=currency.upper(),
        )
        for currency in currencies
    ]  # fmt: skip


@_validate.register
def _share(share: Share) -> Share:
    _check_filters(
        share.filters,
        CUSTOM_TABLES["events"].fields,
        "table 'events'",
        CUSTOM_TABLES["events"].visitors,
    )
    expires = None
    if share.expires is not None:
        expires_ms = _instant_ms("expires", share.expires)
        expires = format_instant(expires_ms)
        if expires_ms <= share.created_at:
            created = format_instant(share.created_at)
            raise Malformed(f"'expires' is {expires}; give an instant after {created}")
    return replace(
        share,
        name=validate_name("name", share.name),
        expires=expires,
        frame_origins=validate_origins(share.frame_origins, "frameOrigins"),
    )


def _check_filters(
    filters: FilterList,
    fields: Mapping[str, FilterField],
    table: str,
    visitors: VisitorTarget | None = None,
) -> None:
    """Malformed unless they are about the table; `visitors` permit what visitors did as well."""
    _check_size("filters", filters)
    compile_conditions(_with_goals(filters), fields, table, visitors=visitors)


def _check_size(name: str, members: FilterList | Mapping[str, Any]) -> None:
    if (size := len(msgspec.json.encode(members))) > MAX_FILTERS_BYTES:
        raise Malformed(
            f"'{name}' has {size:,} bytes as JSON; at most {MAX_FILTERS_BYTES:,} are allowed"
        )


_ANY_GOAL = Goal(
    id="", organization_id="", website_id="", created_at=0, updated_at=0, name="", event="any",
    value_property="properties.any",
)  # fmt: skip
_ANY_SEGMENT = Segment(
    id="", organization_id="", website_id="", created_at=0, updated_at=0, name="any",
    filters=({"field": "path", "operator": "is_not_null"},),
)  # fmt: skip


class _AnySaved(SavedRecords, frozen=True):
    """Has every goal, segment and money property: they are looked up when a funnel or an
    exploration is asked, and may change."""

    def find(self, record_type: type[Any], reference: str) -> Any:  # noqa: ARG002
        if record_type is MoneyProperty:
            [first, *others] = self.of(MoneyProperty)
            in_any = {"currency": None, "currency_property": "properties.any_currency"}
            return replace(first, **in_any) if others else first
        return _ANY_SEGMENT if record_type is Segment else _ANY_GOAL


def _with_goals(filters: FilterList) -> list[Filter]:
    """The filters with an event for each saved goal in what visitors did.

    The goals themselves are looked up when the filters are used: they may change.
    """
    parsed = msgspec.convert(filters, list[Filter])
    done = [behavior for each in flatten(parsed, "filters") for _, behavior in each.behaviors]
    named = [behavior.goal for behavior in done if behavior.goal]
    goals = {name: structs.replace(_ANY_GOAL, id=name, name=name) for name in named}
    return expand_segments(parsed, SavedRecords(goals)) if goals else parsed


def _fits_another_table(filters: FilterList) -> bool:
    """Whether some table has all columns of the filters."""
    for name, table in CUSTOM_TABLES.items():
        with suppress(Malformed):
            _check_filters(filters, table.fields, f"table '{name}'", table.visitors)
            return True
    return False


def _check_property(field: str, name: str | None) -> None:
    if name is None:
        return
    if not is_property(name):
        raise Malformed(f"'{field}' is '{name[:60]}'; name a property as in properties.total")
    parse_property(name, "property", field)


def _moment(field: str, text: str) -> str:
    """A date as it is, an instant in UTC with milliseconds."""
    if DATE_PATTERN.match(text) and len(text) == 10:
        day = parse_date(field, text)
        moment = str(day)
    else:
        moment = str(format_instant(_instant_ms(field, text)))
    if not str(FIRST_DAY) <= moment < str(LAST_DAY):
        raise Malformed(f"'{field}' must be between {FIRST_DAY} and {LAST_DAY}")
    return moment


def _instant_ms(field: str, text: str) -> int:
    with suppress(ValueError, OverflowError):
        if text[-1:] in "Zz" or "+" in text[10:] or "-" in text[10:]:
            return parse_instant_ms(text)
    raise Malformed(
        f"'{field}' is '{text}'; use a date (YYYY-MM-DD) or an ISO 8601 instant with offset, "
        "such as 2026-11-05T14:00:00Z"
    )
