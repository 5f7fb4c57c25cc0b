"""Ranges of forms: the quarters that most of them read, without filters or facts of visits."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from msgspec import Struct

from query.prepared.quarters import Quarters, by_bucket, whole_range
from query.request.buckets import Granularity
from query.request.time_range import TimeRange


class WithoutFilters(Struct, frozen=True):
    visit_tables: ClassVar[Sequence[str]] = ()
    filter_fields: ClassVar[Mapping[str, int]] = {}
    text_count: ClassVar[int] = 0


class OfWholeRange(WithoutFilters, frozen=True):
    """A form whose rows are of the whole time range."""

    def quarters(self, time_range: TimeRange, granularity: Granularity) -> Quarters | None:  # noqa: ARG002
        return whole_range(time_range)


class OfBuckets(WithoutFilters, frozen=True):
    """A form whose rows are of buckets."""

    def quarters(self, time_range: TimeRange, granularity: Granularity) -> Quarters | None:
        return by_bucket(time_range, granularity)


class AfterEarlier(OfBuckets, frozen=True):
    """A form of buckets that needs the visitors who had an event before the rows that it reads."""
