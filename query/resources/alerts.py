"""Requests about one alert: test and history; and the state that a list shows beside each."""

from collections.abc import Mapping, Sequence

from starlette.responses import Response

from query.resources.alert_state import shown_state
from query.resources.notices import (
    WRITES,
    NoticeResponse,
    history_action,
    tell_now,
)
from query.resources.resource import Action, Call
from query.response.json_response import json_response
from schemas.errors import Conflict
from schemas.http import openapi
from schemas.registry import Alert
from schemas.registry.notices import NoticeEvent, new_notice, targets_of

NOBODY = "The alert has no recipients and no channels; add some, then retry"


async def states(call: Call, alerts: Sequence[Alert]) -> Mapping[str, Mapping[str, object]]:
    """The member `state` of alerts, by id."""
    notices, ids = call.dependencies.store.notices(), [alert.id for alert in alerts]
    by_alert = await call.dependencies.in_registry(lambda: notices.alert_states(ids))
    return {
        alert.id: {"state": shown_state(alert, by_alert.get(alert.id), call.now_ms)}
        for alert in alerts
    }


async def test_alert(call: Call, alert: Alert) -> Response:
    """POST: tell its recipients and channels a test, also while it is muted."""
    saved = call.dependencies.registry.saved.of_website(alert.website_id)
    targets = targets_of(alert, saved.by_id)
    if not targets:
        raise Conflict(NOBODY)
    now = call.now_ms
    notice = new_notice(
        NoticeEvent.TEST, alert.website_id, (now, now), now, alert_id=alert.id, once=False
    )
    return json_response(await tell_now(call, alert, notice, targets))


ACTIONS = (
    Action(
        access=WRITES,
        run=test_alert,
        path="/test",
        operation_id="testAlert",
        summary="Test an alert: its recipients and channels are told at once",
        description="Also while it is muted, and in quiet hours. The key needs `write:records` or "
        "`manage:websites`, and `read:data`. 409 when the alert has nobody to tell. `GET "
        "…/history` shows what became of the deliveries.",
        response=openapi.Response(200, "the notice", NoticeResponse),
        errors=(Conflict,),
    ),
    history_action(
        "listAlertHistory", "List when an alert fired, newest first, with each delivery"
    ),
)
"""Requests about one alert beside those of every saved record."""
