"""Spans of traces, as the services see them: the current one, and those below it.

Where traces are off nothing begins a span: CURRENT_SPAN stays None and `child_span` does nothing.
Attributes never hold keys, ids of visitors or tenants, addresses, or text of a query.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

Attributes = Mapping[str, str | int | float | bool]


NOTHING: Attributes = {}


class Span(Protocol):
    """A span that is recorded."""

    @property
    def traceparent(self) -> bytes:
        """Its ids, as the header of that name."""

    def note(self, attributes: Attributes) -> None:
        """Add attributes."""

    def count(self, name: str, number: int) -> None:
        """Add a number to an attribute."""

    def child(
        self, name: str, attributes: Attributes, links: Sequence[bytes] = (), sends: bool = False
    ) -> "Span":
        """Begin a span below it, with the links of this one or those that are given.

        `sends`: it hands messages to Kafka.
        """

    def end(self, error: str = "") -> None:
        """End it; `error` is the kind of failure, never a message with values."""


class Tracer(Protocol):
    """Begins the first span that this process has of a trace."""

    def records(self, traceparent: bytes | None) -> bool:
        """Whether a request with this header is recorded; to be asked once."""

    def request(self, name: str, traceparent: bytes | None, attributes: Attributes) -> Span:
        """The span of an HTTP request that is recorded, continuing the trace of its header."""

    def batch(
        self, name: str, traceparents: Sequence[bytes], links: Sequence[bytes]
    ) -> Span | None:
        """The span of messages from Kafka; None when no request of theirs is recorded.

        It continues the first of `traceparents` and links to all of `links`, up to a bound.
        """

    def close(self, seconds: float) -> None:
        """Send what is queued, for at most `seconds`."""


class Traces:
    """The tracer of this process, like its metrics; None while traces are off."""

    tracer: Tracer | None = None


CURRENT_SPAN: ContextVar[Span | None] = ContextVar("tidemark.span", default=None)
"""The span that is running; None where traces are off or this request is not recorded."""


@contextmanager
def running(span: Span | None) -> Iterator[Span | None]:
    """Make a span the current one until it ends with the block; nothing for None."""
    if span is None:
        yield None
        return
    token = CURRENT_SPAN.set(span)
    error = "cancelled"
    try:
        yield span
        error = ""
    except Exception as failure:
        error = type(failure).__name__
        raise
    finally:
        CURRENT_SPAN.reset(token)
        span.end(error)


@contextmanager
def child_span(name: str, attributes: Attributes = NOTHING) -> Iterator[Span | None]:
    """A span below the current one; None without one."""
    parent = CURRENT_SPAN.get()
    with running(parent and parent.child(name, attributes)) as span:
        yield span


def note(attributes: Attributes) -> None:
    """Add attributes to the current span, if there is one."""
    if (span := CURRENT_SPAN.get()) is not None:
        span.note(attributes)
