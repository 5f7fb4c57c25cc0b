"""The website or link of a request, if the API key has access to it."""

from collections.abc import Sequence
from enum import StrEnum

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from starlette.requests import Request

from query.dependencies import QueryDependencies
from query.request.filter_struct import Filter
from query.request.hidden_values import HiddenValues, hidden_values
from query.request.segments import expand_segments
from query.sign_in.share_access import ShareKey
from schemas.errors import Malformed
from schemas.http.auth import authorize_link, authorize_organization, authorize_website
from schemas.http.openapi import Parameter
from schemas.registry import Key, PathGroup, SavedRecord, SavedRecords, Share, Snapshot


class SubjectKind(StrEnum):
    """What a query is about; the value is the query parameter that names it."""

    LINK = "link_id"
    WEBSITE = "website_id"


MAX_WEBSITES = 50
"""Websites of one query."""

SUBJECT_PARAMETERS = (
    Parameter(
        SubjectKind.WEBSITE,
        "the website to query, or several of one organization, separated by commas; "
        "either this or link_id",
    ),
    Parameter(SubjectKind.LINK, "the short link to query"),
)


class QuerySubject(Struct, frozen=True):
    """The subject of a request: a link, or one or several websites of one organization."""

    kind: SubjectKind
    ids: tuple[str, ...]
    organization_id: str
    """The organization of the API key."""
    time_zone: str = "UTC"
    """The time zone of its days, unless the request names another."""
    saved: SavedRecords = SavedRecords()
    """Saved records of the websites; of a shared dashboard only path groups."""
    shared_filters: Sequence[Filter] | None = None
    """Of a shared dashboard: filters that always apply. None for an API key."""
    hidden: tuple[HiddenValues, ...] = ()
    """Values of erasures that are not done, whose rows are left out."""

    @property
    def tenant(self) -> str:
        """Whose limits of memory and concurrency hold: shared dashboards have their own."""
        shares = "" if self.shared_filters is None else ":shares"
        return f"{self.organization_id}{shares}"


def authorized_subject(dependencies: QueryDependencies, key: Key, request: Request) -> QuerySubject:
    """The subject of the query string; Malformed unless there is exactly one."""
    values = {kind: request.query_params.get(kind) for kind in SubjectKind}
    named = [(kind, value) for kind, value in values.items() if value]
    if len(named) != 1:
        problem = "not both" if named else "as in ?website_id=…; the body does not name it"
        raise Malformed(f"Give either 'website_id' or 'link_id' in the query string, {problem}")
    kind, name = named[0]
    owner = key.organization_id
    unfinished = dependencies.registry.tombstones.unfinished
    if kind is SubjectKind.LINK:
        link = authorize_link(dependencies.registry, key, name)
        return QuerySubject(kind, (link.id,), owner, hidden=hidden_values(unfinished, owner))
    ids = tuple(dict.fromkeys(part.strip() for part in name.split(",")))
    if "" in ids:
        raise Malformed(
            "'website_id' has an empty id; separate several by one comma, as in ?website_id=A,B"
        )
    if len(ids) > MAX_WEBSITES:
        raise Malformed(f"'website_id' names {len(ids)} websites; at most {MAX_WEBSITES} are asked")
    subject = _websites(dependencies.registry, key, ids)
    subject = replace(subject, hidden=hidden_values(unfinished, owner, ids))
    return _shared(subject, key.share) if isinstance(key, ShareKey) else subject


def _shared(subject: QuerySubject, share: Share) -> QuerySubject:
    """The subject with the filters of the share, and of what is saved with path groups alone."""
    filters = expand_segments(msgspec.convert(share.filters, list[Filter]), subject.saved)
    groups = SavedRecords({group.id: group for group in subject.saved.of(PathGroup)})
    return replace(subject, saved=groups, shared_filters=filters)


def _websites(registry: Snapshot, key: Key, ids: tuple[str, ...]) -> QuerySubject:
    """The websites, if the key has access to each of them.

    Their days are those of their common time zone, or UTC when they have several.
    """
    websites = []
    for each in ids:
        if each == key.organization_id:  # items sent without a website by a key of several
            authorize_organization(registry, key, each)
        else:
            websites.append(authorize_website(registry, key, each))
    zones = {website.timezone for website in websites}
    saved: dict[str, SavedRecord] = {}
    for website in websites:
        saved |= registry.saved.of_website(website.id).by_id
    return QuerySubject(
        SubjectKind.WEBSITE,
        ids,
        key.organization_id,
        zones.pop() if len(zones) == 1 else "UTC",
        SavedRecords(saved),
    )
