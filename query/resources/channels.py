"""A request about one channel: test."""

from typing import Annotated, Literal

from msgspec import Meta, Struct
from starlette.responses import Response

from query.notify.channels import NotSent, send
from query.notify.deliver import open_channel
from query.notify.guarded_http import GuardedHttp
from query.notify.message import Fact, Message
from query.resources.resource import Access, Action, Call
from query.response.json_response import json_response
from schemas.http import openapi
from schemas.registry import Channel, KeyScope
from schemas.registry.ids import random_id


class ChannelTest(Struct):
    """What became of the test message."""

    delivered: bool
    problem: Annotated[str | None, Meta(description="why it was not delivered")]


class ChannelTestResponse(Struct):
    """The result of a test."""

    success: Literal[True]
    data: ChannelTest


async def test_channel(call: Call, channel: Channel) -> Response:
    """POST: send a message now, once."""
    dependencies, now = call.dependencies, call.now_ms
    website = dependencies.registry.websites[channel.website_id]
    message = Message(
        event="test",
        title=f"Test: {channel.name}",
        sentence="This channel can be reached by Tidemark.",
        facts=(Fact("Website", website.domain),),
        link=f"{dependencies.access.query_url}/{website.id}/setup?part=channels",
        website=website.domain,
        data={"type": "channel.test", "channel": {"id": channel.id, "name": channel.name}},
        occurred_at=now,
    )
    problem = None
    try:
        opened = open_channel(channel, dependencies.sign_ins.secret)
        http = GuardedHttp(dependencies.webhook_networks)
        await send(opened, message, f"dlv_{random_id(16)}", now, http)
    except NotSent as error:
        problem = error.problem
    data = ChannelTest(problem is None, problem)
    return json_response(ChannelTestResponse(success=True, data=data))


ACTIONS = (
    Action(
        access=Access((KeyScope.MANAGE_WEBSITES,), also=(KeyScope.READ_DATA,)),
        run=test_channel,
        path="/test",
        operation_id="testChannel",
        summary="Test a channel: a message is sent at once",
        description="The key needs `manage:websites` and `read:data`. The response says whether "
        "the receiver took it.",
        response=openapi.Response(200, "what became of it", ChannelTestResponse),
    ),
)
"""Requests about one channel beside those of every saved record."""
