"""Saved records of websites: a Resource for each of SAVED_TYPES."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec import structs

from query.resources import alerts, channels, reports
from query.resources.notices import WRITES
from query.resources.pagination import page_parameters
from query.resources.resource import (
    Access,
    Action,
    Beside,
    Call,
    Create,
    Created,
    List,
    Resource,
    Show,
    Update,
    Verb,
    endpoints,
)
from query.resources.saved_references import refuse_unknown
from query.resources.saved_types import (
    SAVED_TYPES,
    SavedType,
    changed_record,
    given_fields,
    new_record,
    resource,
    with_secret,
)
from schemas.errors import Conflict, Malformed, NotFound
from schemas.http.auth import authorize_website
from schemas.http.openapi import Parameter
from schemas.registry import (
    Alert,
    Channel,
    KeyScope,
    Report,
    SavedRecord,
    Website,
)
from schemas.registry.record_limits import MAX_RECORDS

WEBSITE_PARAMETER = Parameter(
    "website_id", "the website; default: that of a key which is restricted to one"
)
OWN_WEBSITE_PARAMETER = Parameter("website_id", "the website of the record; not needed")
READS = Access((KeyScope.READ_DATA,))
ACTIONS: Mapping[type[SavedRecord], Sequence[Action]] = {
    Alert: alerts.ACTIONS,
    Channel: channels.ACTIONS,
    Report: reports.ACTIONS,
}
"""Further requests about one record."""
BESIDE: Mapping[type[SavedRecord], Beside] = {Alert: alerts.states, Report: reports.states}


async def make(saved: SavedType, call: Call) -> Created:
    """A new record of the website that the query string names."""
    website = _website(call)
    body, secret = await call.body(saved.bodies.new), call.dependencies.sign_ins.secret
    record = new_record(saved.record, website, body, call.now_ms, secret, call.key.name)
    check_references(call, record)
    return Created(*with_secret(record, secret))


def check_website(saved: SavedType, call: Call, record: SavedRecord) -> None:
    """NotFound when the query string names another website."""
    if call.parameters.get("website_id", record.website_id) != record.website_id:
        raise NotFound(f"No such {saved.word} of this website")


def validated(call: Call, before: SavedRecord, record: SavedRecord) -> SavedRecord:
    """The updated record, validated; Malformed."""
    check_references(call, record, before)
    return changed_record(before, record, call.dependencies.sign_ins.secret)


def check_references(call: Call, record: SavedRecord, before: SavedRecord | None = None) -> None:
    """Malformed when it names a record that its website does not have."""
    saved = call.dependencies.registry.saved.of_website(record.website_id).by_id
    refuse_unknown(record, saved, before)


def _website(call: Call) -> Website:
    website_id = call.parameters.get("website_id") or call.key.website_id
    if not website_id:
        raise Malformed("'website_id' is missing in the query string, as in ?website_id=…")
    return authorize_website(call.dependencies.registry, call.key, website_id)


def _details(
    saved: SavedType,
) -> Callable[[Call, SavedRecord], Awaitable[Mapping[str, object]]] | None:
    """What the response of one record shows besides."""
    beside = BESIDE.get(saved.record)
    if beside is None:
        return None

    async def details(call: Call, record: SavedRecord) -> Mapping[str, object]:
        return (await beside(call, [record]))[record.id]

    return details


def _resource(saved: SavedType) -> Resource[Any]:
    name, word, words = saved.record.__name__, saved.word, saved.words
    needed = " or ".join(f"`{scope}`" for scope in saved.scopes)
    needed = " and ".join((needed, *(f"`{scope}`" for scope in saved.also)))
    writes = Access(saved.scopes, also=saved.also)
    reads = WRITES if saved.names_people else READS  # analysts choose channels of alerts
    one: Any = {
        "check": partial(check_website, saved),
        "parameters": (OWN_WEBSITE_PARAMETER,),
    }
    return Resource(
        record=saved.record,
        path=saved.path,
        tag=words.capitalize(),
        word=word,
        id_name=f"{word.replace(' ', '_')}_id",
        shows=lambda _call, record: resource(record),
        one=saved.bodies.response,
        page=saved.bodies.page,
        create=Create(
            body=saved.bodies.new,
            make=partial(make, saved),
            access=writes,
            operation_id=f"create{name}",
            summary=f"Create {saved.a_word}",
            description=f"{saved.description} The key needs {needed}. A website has at "
            f"most {MAX_RECORDS[saved.record]:,} {words}.",
            parameters=(WEBSITE_PARAMETER,),
            examples={saved.a_word: saved.example},
        ),
        list=List(
            where=lambda call: {"website_id": _website(call).id},
            beside=BESIDE.get(saved.record),
            access=reads,
            operation_id=f"list{words.title().replace(' ', '')}",
            summary=f"List {words}, oldest first",
            parameters=(WEBSITE_PARAMETER, *page_parameters(words)),
        ),
        show=Show(
            **one,
            access=reads,
            operation_id=f"show{name}",
            summary=f"Show {saved.a_word}",
            details=_details(saved),
        ),
        update=Update(
            **one,
            body=saved.bodies.changes,
            changes=lambda call, body: given_fields(body, call.dependencies.sign_ins.secret),
            validate=validated,
            access=writes,
            operation_id=f"change{name}",
            summary=f"Update {saved.a_word}: absent fields stay, null clears a field",
            description=f"The key needs {needed}.",
            examples={f"changes of {saved.a_word}": saved.changes},
            errors=(Conflict,),
        ),
        delete=Verb(
            **one,
            access=Access(saved.scopes),
            operation_id=f"delete{name}",
            summary=f"Delete {saved.a_word}",
        ),
        actions=[
            structs.replace(
                action, check=one["check"], parameters=(*one["parameters"], *action.parameters)
            )
            for action in ACTIONS.get(saved.record, ())
        ],
    )


ENDPOINTS = tuple(endpoint for saved in SAVED_TYPES for endpoint in endpoints(_resource(saved)))
