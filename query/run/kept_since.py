"""The first day of which a result has all rows: older ones are deleted by age."""

from collections.abc import Iterable

from msgspec import UNSET, UnsetType

from query.dependencies import QueryDependencies
from query.request.subject import QuerySubject
from query.request.time_range import first_whole_day
from query.run.plan import Plan
from schemas.registry.keep_days import KeepDays, midnight_ms_before
from schemas.tables import CLICKS, Table


def kept_since(dependencies: QueryDependencies, plans: Iterable[Plan]) -> str | UnsetType:
    """The first day in the zone of the queries, where one of them begins before it.

    Rows before it may be there still: the keeper deletes them within an hour to some days.
    """
    instants = [
        (kept_ms, plan.query.time_range.zone)
        for plan in plans
        if (kept_ms := _kept_ms(dependencies, plan)) is not None and _first_ms(plan) < kept_ms
    ]
    return first_whole_day(*max(instants)).isoformat() if instants else UNSET


def _first_ms(plan: Plan) -> int:
    """When the time range begins, or that which it is compared with."""
    query = plan.query
    ranges = (query.time_range, query.comparison_range or query.time_range)
    return min(time_range.start_ms for time_range in ranges)


def _kept_ms(dependencies: QueryDependencies, plan: Plan) -> int | None:
    """From when the tables of a query have all rows of its subject; None: from the beginning."""
    days = [
        days
        for table in plan.tables
        for owners in _owner_days(dependencies, plan.query.subject, table)
        if (days := dependencies.keep_bounds.days_of(table.name, *owners)) is not None
    ]
    return midnight_ms_before(min(days), plan.query.now_ms) if days else None


def _owner_days(
    dependencies: QueryDependencies, subject: QuerySubject, table: Table
) -> Iterable[tuple[KeepDays, ...]]:
    """For each subject its days and those of its organization; links have none of their own."""
    registry = dependencies.registry
    organization = registry.organizations.get(subject.organization_id)
    of_organization = organization.keep_days if organization else {}
    for name in subject.ids:
        website = registry.websites.get(name)
        if website is None or table is CLICKS:
            yield (of_organization,)
        else:
            yield website.keep_days, of_organization
