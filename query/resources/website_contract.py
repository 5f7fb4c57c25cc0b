"""The event contract of a website: show, replace, remove."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct
from starlette.responses import Response

from query.dependencies import BODY_ERRORS
from query.resources.resource import Access, Action, Call
from query.resources.website_set_up import READS
from query.response.bodies import SuccessResponse
from query.response.json_response import json_response
from schemas.event_contract import Contract, Enforcement, WebsiteContract
from schemas.http import openapi
from schemas.registry import KeyScope, Website
from schemas.registry.website_contracts import MAX_CONTRACT_BYTES, MAX_PROPERTIES, contract_value

EXAMPLE = {
    "contract": {
        "events": {
            "purchase": {
                "properties": {
                    "total": {"type": "number", "required": True, "unit": "EUR"},
                    "plan": "text",
                }
            },
            "signup": {"otherProperties": True},
        }
    },
    "enforce": "off",
}


class WebsiteContractResource(Struct, rename="camel"):
    """The event contract of a website, and what becomes of events that differ."""

    website_id: str
    contract: Annotated[Contract | None, Meta(description="null where it has none")]
    enforce: Enforcement


class WebsiteContractResponse(Struct):
    """The event contract of one website."""

    success: Literal[True]
    data: WebsiteContractResource


async def put_contract(call: Call, website: Website) -> Response:
    """PUT /v1/websites/{id}/contract: replaces the whole contract."""
    return _response(await _write(call, website, contract_value(await call.body(WebsiteContract))))


async def show_contract(_call: Call, website: Website) -> Response:
    """GET of it."""
    return _response(website)


async def remove_contract(call: Call, website: Website) -> Response:
    """DELETE of it: events are no longer checked."""
    await _write(call, website, {})
    return json_response(SuccessResponse(success=True))


async def _write(call: Call, website: Website, value: dict[str, object]) -> Website:
    now = call.now_ms
    return await call.write(
        Website, lambda store: store.update(Website, website.id, now, contract=value)
    )


def _response(website: Website) -> Response:
    stored: dict[str, Any] = website.contract or {"contract": None, "enforce": Enforcement.OFF}
    return json_response({"success": True, "data": {"websiteId": website.id, **stored}})


WRITES = Access((KeyScope.MANAGE_WEBSITES,))
SHOWN = openapi.Response(200, "the contract", WebsiteContractResponse)
CONTRACT_ACTIONS = (
    Action(
        access=WRITES,
        run=put_contract,
        method="PUT",
        path="/contract",
        operation_id="putContract",
        summary="Give a website an event contract, or replace it",
        description="The contract is the content of a file that `tidemark contract check` reads: "
        f"events with their properties, at most {MAX_CONTRACT_BYTES:,} bytes as JSON and "
        f"{MAX_PROPERTIES} properties of an event. Custom "
        "events that the collector receives are checked within a second: those that differ are "
        "named in its response and in `/debug`, and refused with `enforce: refuse`. Stored and "
        "imported events are not changed. The key needs `manage:websites`.",
        body=WebsiteContract,
        examples={"a contract": EXAMPLE},
        response=SHOWN,
        errors=BODY_ERRORS,
    ),
    Action(
        access=READS,
        run=show_contract,
        method="GET",
        path="/contract",
        operation_id="showContract",
        summary="Show the event contract of a website",
        response=SHOWN,
    ),
    Action(
        access=WRITES,
        run=remove_contract,
        method="DELETE",
        path="/contract",
        operation_id="removeContract",
        summary="Remove the event contract of a website",
        description="Its events are no longer checked; without a contract nothing changes. "
        "The key needs `manage:websites`.",
        response=openapi.Response(200, "removed", SuccessResponse),
    ),
)
