"""Scope: which rows of a table version a query may see; and scopes in further tables."""

from collections.abc import Sequence
from functools import cached_property

from msgspec import Struct, structs

from query.engine.snapshots import PinnedVersion
from query.request.hidden_values import HiddenValues
from query.request.time_range import Granularity, TimeRange
from query.scope.hidden_rows import shows_rows
from query.scope.key_spans import KeySpans
from query.scope.visitor_sets import all_time
from query.sql.fragment import Fragment, VisitorSet
from schemas.lake.delta_table import DataFile, TableVersion
from schemas.registry import PathGroup
from schemas.tables import EVENTS, IDENTITIES, Table


class Scope(Struct, frozen=True, dict=True):
    """Which rows of a table version a query may see."""

    pinned: PinnedVersion
    subject_column: str
    subjects: tuple[str, ...]
    time_range: TimeRange
    granularity: Granularity = Granularity.DAILY
    where: Fragment = Fragment()
    """A further condition on the rows, by columns of the table."""
    visit_where: Fragment = Fragment()
    """A further condition on the visits of the rows, by facts of the visit."""
    session_where: Fragment = Fragment()
    """The same for rows of the prepared table of sessions."""
    keys: Fragment = Fragment()
    """The visits or visitors of one page of a list; beside the conditions, for all relations."""
    keys_are_visits: bool = False
    """Whether the keys are of visits."""
    key_spans: KeySpans | None = None
    """When the rows of the keys are, where that is known."""
    fact_range: TimeRange | None = None
    """The time range around which facts of visits are looked up, when rows are read of less."""
    asked_range: TimeRange | None = None
    """The time range of the query, when rows are read of less: in it visitors did something."""
    later: Fragment = Fragment()
    """A condition on what is computed from the rows, whose sets of visitors are needed."""
    events: PinnedVersion | None = None
    """The version of events that facts of the visit and sets of visitors come from."""
    hidden: tuple[HiddenValues, ...] = ()
    """Values of erasures, whose rows are left out."""
    include_bots: bool = False
    identities: PinnedVersion | None = None
    """The version of identities that profiles come from."""
    by_profile: bool = False
    """Whether the devices of one profile are one visitor."""
    path_groups: Sequence[PathGroup] = ()
    """The saved groups of paths of its websites."""
    names_person: bool = False
    """Whether `anonymous_id` is that of the person; in conditions it is the row's own."""

    @property
    def table(self) -> Table:
        return self.pinned.version.table

    @property
    def shown(self) -> Fragment:
        """The condition that a row is not hidden."""
        return shows_rows(self.hidden, self.table, self.pinned.is_historic)

    @cached_property
    def data_files(self) -> Sequence[DataFile]:
        """The data files that may hold rows of the subject and the time range."""
        same = self.subject_column == self.table.subject_column
        subjects = self.subjects if same else None
        start, end = self.time_range.start_ms, self.time_range.end_ms
        files = self.pinned.data_files(subjects, start, end)
        return [file for file in files if self._may_have_keys(file)]

    def _may_have_keys(self, file: DataFile) -> bool:
        """Whether a data file with rows of the time range may have some of the keys."""
        if self.key_spans is None or file.ts_range is None:
            return True
        low, high = file.ts_range
        start, last = self.time_range.start_ms, self.time_range.end_ms - 1
        return self.key_spans.may_have_rows(max(low, start), min(high, last))

    @cached_property
    def version(self) -> TableVersion:
        """The version of the table with these data files only."""
        return self.pinned.version.with_files(self.data_files)


class WantedRelation(Struct, frozen=True):
    """A scope and the columns of it that a statement names."""

    scope: Scope
    columns: Sequence[str]


def set_scope(scope: Scope, visitors: VisitorSet) -> Scope:
    """The events that count for a set of visitors."""
    time_range = scope.asked_range or scope.fact_range or scope.time_range
    return structs.replace(
        events_scope(scope),
        time_range=all_time(time_range.zone) if visitors.ever else time_range,
        where=visitors.where,
    )


def events_scope(scope: Scope) -> Scope:
    """All events of the subject in the time range."""
    if scope.events is None:
        raise ValueError("a scope without a version of events has no facts of visits or visitors")
    return structs.replace(
        without_conditions(scope), pinned=scope.events, subject_column=EVENTS.subject_column
    )


def identity_scope(scope: Scope) -> Scope:
    """All identities of the subject, those of bots only where the scope has bots."""
    if scope.identities is None:
        raise ValueError("a scope without a version of identities has no profiles")
    return structs.replace(
        without_conditions(scope),
        pinned=scope.identities,
        subject_column=IDENTITIES.subject_column,
        time_range=all_time(scope.time_range.zone),
        by_profile=False,
        names_person=False,
    )


def of_whole_visits(scope: Scope) -> Scope:
    """The scope without conditions on rows and on visits; those on what visitors did remain.

    A session id may be shared by several visitors, of whom a condition keeps some.
    """
    kept = scope.visit_where if scope.visit_where.visitor_sets else Fragment()
    return structs.replace(scope, where=Fragment(), visit_where=kept, session_where=Fragment())


def without_conditions(scope: Scope) -> Scope:
    nothing = Fragment()
    return structs.replace(
        scope,
        where=nothing,
        visit_where=nothing,
        session_where=nothing,
        keys=nothing,
        key_spans=None,
        later=nothing,
    )
