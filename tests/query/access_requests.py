"""A request to the query service, with what the access model says about it."""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from tests.access_model import Caller

WEBSITES = ("shop", "blog", "rival", "nowhere")
ORGANIZATIONS = ("acme", "globex", "nobody")


class Request(Struct, frozen=True, kw_only=True):
    """One request about one subject, and the permissions that it needs."""

    route: tuple[str, str]
    path: str
    scopes: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    """Scopes that are needed beside one of `scopes`."""
    subject: str | None = None
    hidden: bool = False
    """Whether a subject without access gets the same response as one that does not exist."""
    whole: bool = False
    """Whether a key that is bound to one website is refused."""
    query: Mapping[str, str] = {}
    body: object = None
    """The body, or a function that makes one for each attempt."""
    good: int = 200
    several: int | None = None
    """The status for people with roles on several websites, of which the request names none."""
    of_people: bool = False
    """Whether it is about the account of a person, which keys have none of."""

    of_keys: bool = False
    """Whether people are refused."""

    def status(self, caller: Caller) -> int:
        """What the access model says."""
        if not self.scopes and not self.of_people:
            return self.good
        if not caller.live:
            return 401
        if self.of_people:
            return self.good if caller.member else 403
        if self.of_keys and caller.member:
            return 403
        reach = caller.reach(*self.scopes)
        for scope in self.also:
            websites = caller.reach(scope)
            reach = websites if reach is None else reach if websites is None else reach & websites
        if reach == frozenset() or (self.whole and reach is not None):
            return 403
        if self.subject is None:
            return self.good if reach is None or len(reach) == 1 else self.several or self.good
        if caller.has_within(self.subject, reach):
            return self.good
        return 404 if self.hidden else 403


class Records(Struct, frozen=True, kw_only=True):
    """What keys may do with one record of a kind; the service declares it a second time."""

    path: str
    id_name: str
    subjects: tuple[str, ...]
    """Records of both tenants, and one that does not exist."""
    removed: str
    """The subject that is deleted at the end: no other request is about it then."""
    reads: tuple[str, ...]
    """Scopes of which one is needed."""
    reads_also: tuple[str, ...] = ()
    """Scopes that reading needs besides."""
    writes: tuple[str, ...]
    also: tuple[str, ...] = ()
    """Scopes that creating and changing needs besides."""
    whole: bool = False
    """Whether writing needs a key of the whole organization."""
    change: object = None
    """The body of an update; None: there is none."""
    confirm: Mapping[str, str] = {}
    """The query string of a deletion."""
    deleted: int = 200

    def requests(self) -> Iterator[Request]:
        """Reads and updates of each subject."""
        for subject in self.subjects:
            yield self.request("GET", subject, scopes=self.reads, also=self.reads_also)
            if self.change is not None:
                write: Any = {"scopes": self.writes, "also": self.also, "whole": self.whole}
                yield self.request("PATCH", subject, body=self.change, **write)

    def request(self, method: str, subject: str, part: str = "", **more: Any) -> Request:
        """A request about one record, which nobody else learns of."""
        return Request(
            route=(method, f"{self.path}/{{{self.id_name}}}{part}"),
            path=f"{self.path}/{subject}{part}",
            subject=subject,
            hidden=True,
            **more,
        )

    def removal(self) -> Request:
        """The deletion of a subject."""
        more: Any = {"scopes": self.writes, "whole": self.whole, "good": self.deleted}
        return self.request("DELETE", self.removed, query=self.confirm, **more)
