"""Replays of quarantined items: create, list, show. The maintenance worker carries them out."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from query.resources.pagination import page_parameters
from query.resources.quarantine import DEFAULT_DAYS, MAX_DAYS
from query.resources.resource import Access, Call, Create, Created, List, Resource, Show, endpoints
from query.response.bodies import response_types
from schemas.errors import Malformed
from schemas.http import openapi
from schemas.http.auth import authorize_link, authorize_website
from schemas.registry import ErasureState, KeyScope, Replay, ReplayState, Snapshot
from schemas.registry.tombstones import erasure_subject
from schemas.registry.validation import new_replay
from schemas.runtime.clock import format_instant

MAX_CHANGES = 20


class NewReplay(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The body that creates a replay: a website or a link, and which of its items."""

    website_id: str | UnsetType = UNSET
    link_id: str | UnsetType = UNSET
    days: Annotated[
        int, Meta(ge=1, le=MAX_DAYS, description="items that were received in the last days")
    ] = DEFAULT_DAYS
    stage: Annotated[
        Literal["decode", "enrich", "write"] | None, Meta(description="items that failed there")
    ] = None
    reason_contains: Annotated[
        Annotated[str, Meta(min_length=1, max_length=1000)] | None,
        Meta(description="items whose reason has this text"),
    ] = None
    position: Annotated[
        Annotated[str, Meta(max_length=290)] | None,
        Meta(description="TOPIC/PARTITION/OFFSET/SEQ of a single item"),
    ] = None
    set: Annotated[
        tuple[Annotated[str, Meta(max_length=1000)], ...],
        Meta(
            max_length=MAX_CHANGES,
            description="repairs of each item: 'PATH = number' (or text, boolean) converts, "
            "'PATH = nothing' removes, 'PATH = VALUE' puts a value",
        ),
    ] = ()
    dry_run: Annotated[bool, Meta(description="only try the items")] = False


class ReplayReport(Struct, rename="camel", omit_defaults=True):
    """Numbers of items; what is missing has not happened yet."""

    items: Annotated[int | UnsetType, Meta(description="selected and tried, at most 5,000")] = UNSET
    sendable: Annotated[
        int | UnsetType, Meta(description="of these: would be stored, so that they are sent")
    ] = UNSET
    without_sender: Annotated[
        int | UnsetType,
        Meta(description="of these: without browser and place, as Kafka has no request of them"),
    ] = UNSET
    remaining: Annotated[
        int | UnsetType, Meta(description="selected and not tried: for the next replay")
    ] = UNSET
    problem: Annotated[
        str | UnsetType, Meta(description="why it is not carried out yet; only then")
    ] = UNSET


class ReplayOutcome(Struct):
    """Items with the same reason and the same outcome."""

    items: int
    problem: Annotated[str | None, Meta(description="why they are not sent; null: they are")]
    stage: str
    reason: Annotated[str, Meta(description="why they were quarantined")]
    position: Annotated[str, Meta(description="of one of them")]


class ReplaySample(Struct, rename="camel"):
    """One of the first items."""

    position: str
    stage: str
    reason: str
    problem: str | None
    has_sender: bool
    item: Annotated[
        str | None, Meta(description="as it would be sent: JSON, cut after 600 characters")
    ]


class ReplayResource(Struct, rename="camel"):
    """A replay."""

    id: str
    organization_id: str
    website_id: str | None
    link_id: str | None
    days: int
    stage: str | None
    reason_contains: str | None
    position: str | None
    set: Sequence[str]
    state: ReplayState
    report: ReplayReport
    created_at: str
    updated_at: str
    outcomes: Annotated[
        list[ReplayOutcome] | UnsetType,
        Meta(
            description="the most frequent first; only where one replay is shown, for an hour, "
            "and not once something of its website was erased"
        ),
    ] = UNSET
    samples: Annotated[
        list[ReplaySample] | UnsetType, Meta(description="the first 20 items; as `outcomes`")
    ] = UNSET


def replay_resource(_call: Call, replay: Replay) -> ReplayResource:
    """A replay as responses show it."""
    return ReplayResource(
        id=replay.id,
        organization_id=replay.organization_id,
        website_id=replay.website_id,
        link_id=replay.link_id,
        days=replay.days,
        stage=replay.stage,
        reason_contains=replay.reason_contains,
        position=replay.position,
        set=replay.item_changes,
        state=replay.state,
        report=msgspec.convert(replay.report, ReplayReport),
        created_at=str(format_instant(replay.created_at)),
        updated_at=str(format_instant(replay.updated_at)),
    )


async def make_replay(call: Call) -> Created:
    """A new replay, of a website or a link that the key has access to."""
    body = await call.body(NewReplay)
    registry, key = call.dependencies.registry, call.key
    website_id = link_id = None
    if isinstance(body.website_id, str) and body.link_id is UNSET:
        website_id = authorize_website(registry, key, body.website_id).id
    elif isinstance(body.link_id, str) and body.website_id is UNSET:
        link_id = authorize_link(registry, key, body.link_id).id
    else:
        raise Malformed("Give exactly one of 'websiteId' and 'linkId'")
    record = new_replay(
        key.organization_id,
        call.now_ms,
        website_id=website_id,
        link_id=link_id,
        days=body.days,
        stage=body.stage,
        reason_contains=body.reason_contains,
        position=body.position,
        changes=body.set,
        dry_run=body.dry_run,
    )
    return Created(record)


def listed_replays(call: Call) -> dict[str, str | None]:
    """Replays of the organization, or those of one website."""
    website_id = call.parameters.get("websiteId") or call.key.website_id
    if website_id is not None:
        authorize_website(call.dependencies.registry, call.key, website_id)
    return {"organization_id": call.key.organization_id, "website_id": website_id}


async def planned_items(call: Call, replay: Replay) -> Mapping[str, Any]:
    """What becomes of the items, unless some of it may have been erased."""
    if _may_have_erased_items(call.dependencies.registry, replay):
        return {"outcomes": [], "samples": []}
    return {name: replay.planned_items.get(name, []) for name in ("outcomes", "samples")}


def _may_have_erased_items(registry: Snapshot, replay: Replay) -> bool:
    owners = (replay.website_id or replay.link_id, replay.organization_id)
    return any(
        erasure_subject(erasure) in owners
        and not erasure.state.is_dry_run
        and (erasure.state is not ErasureState.DONE or erasure.created_at >= replay.created_at)
        for erasure in registry.erasures.values()
    )


REPLAYS_ITEMS = Access((KeyScope.MANAGE_WEBSITES,))
ONE, PAGE = response_types("Replay", "replay", "replays", ReplayResource)
REPLAYS = Resource(
    record=Replay,
    path="/v1/quarantine/replays",
    tag="Websites",
    word="replay",
    id_name="replay_id",
    shows=replay_resource,
    one=ONE,
    page=PAGE,
    create=Create(
        body=NewReplay,
        make=make_replay,
        access=REPLAYS_ITEMS,
        operation_id="createReplay",
        summary="Send items of the quarantine again, repaired",
        description="Each item is tried before, and one that would fail again is not sent; a sent "
        "one is stored once, with its time of receipt. It is carried out within seconds: the "
        "states are `pending`, `sending`, `sent`. With `dryRun` the items are only tried: then "
        "the states are `planning` and `planned`. An organization has at most 100 replays; the "
        "oldest that is over makes room for a new one.",
        examples={
            "a dry run": {
                "websiteId": "web_9fKq2VtB7xRd",
                "reasonContains": "Expected `str`, got `int` - at `$.name`",
                "set": ["name = text"],
                "dryRun": True,
            },
            "one item": {"websiteId": "web_9fKq2VtB7xRd", "position": "events/0/12/3"},
        },
    ),
    list=List(
        where=listed_replays,
        access=REPLAYS_ITEMS,
        operation_id="listReplays",
        summary="List replays, oldest first",
        parameters=(
            openapi.Parameter("websiteId", "only those of this website"),
            *page_parameters("replays"),
        ),
    ),
    show=Show(
        details=planned_items,
        access=REPLAYS_ITEMS,
        operation_id="showReplay",
        summary="Show a replay with its report",
    ),
)
ENDPOINTS = tuple(endpoints(REPLAYS))
