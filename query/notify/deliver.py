"""Delivers notices: claims what is due, sends it, and writes what became of it.

Killed between sending and writing, a delivery is sent again two minutes later, with the same id: in
`webhook-id`, and in the Message-ID of a mail, by which receivers recognize it.
"""

import asyncio
import logging
from collections.abc import Mapping

from query.dependencies import QueryDependencies
from query.notify.alert_message import alert_message
from query.notify.channels import NotSent, OpenedChannel, send
from query.notify.guarded_http import GuardedHttp
from query.notify.report_mails import MadeReport, mail_of, make_report, message_of
from query.notify.rules import is_muted
from query.notify.unsubscribe import unsubscribe_url
from schemas.errors import ApiError
from schemas.mail.mailer import MailNotSent
from schemas.mail.notice_mails import notice_mail
from schemas.registry import Alert, Channel, Report, Website
from schemas.registry.channel_secrets import open_channel_field
from schemas.registry.notices import (
    EMAIL,
    Delivery,
    Notice,
    NoticeEvent,
    RegistryNotices,
)
from schemas.registry.sealing import InvalidSealedText

log = logging.getLogger(__name__)

BATCH = 20
CONCURRENCY = 4
SEND_SECONDS = 90.0
"""For one attempt, less than the time until the next."""
NO_MAIL = "No mail is sent here: the operator sets TIDEMARK_SMTP_URL"
FAULT = "An internal error; the log of the query service has more"
NO_CHANNEL = "The channel was deleted"
REMOVED = "The channel gets no more of these"
MUTED = "The alert is muted"
RESEALED = "The secrets of the channel cannot be read after a restore; give its address anew"


class Deliveries:
    """Sends what is due; correct also when several processes do."""

    def __init__(self, dependencies: QueryDependencies, notices: RegistryNotices) -> None:
        self._dependencies = dependencies
        self._notices = notices
        self._http = GuardedHttp(dependencies.webhook_networks)

    async def deliver_due(self) -> int:
        """Try what is due, a batch at most; the number of attempts."""
        now = self._dependencies.clock()
        due = await self._dependencies.in_registry(lambda: self._notices.due(now, BATCH))
        turns = asyncio.Semaphore(CONCURRENCY)
        reports: dict[str, MadeReport] = {}

        async def in_turn(delivery: Delivery, notice: Notice) -> None:
            async with turns:
                await self._attempt(delivery, notice, reports)

        await asyncio.gather(*(in_turn(delivery, notice) for delivery, notice in due))
        return len(due)

    async def _attempt(
        self, delivery: Delivery, notice: Notice, reports: dict[str, MadeReport]
    ) -> None:
        dependencies, notices = self._dependencies, self._notices
        now = dependencies.clock()
        claimed = await dependencies.in_registry(lambda: notices.claim(delivery, now))
        if claimed is None:
            return
        try:
            async with asyncio.timeout(SEND_SECONDS):
                await self._send(claimed, notice, reports)
        except (NotSent, ApiError, TimeoutError) as error:
            await self._note_failure(claimed, error)
            return
        except Exception:  # a fault of one must not stop all others
            log.exception("delivery failed", extra={"delivery": claimed.id})
            await self._note_failure(claimed, NotSent(FAULT))
            return
        done_at = dependencies.clock()
        await dependencies.in_registry(lambda: notices.delivered(claimed, done_at))
        log.info("delivered", extra={"delivery": claimed.id, "to": claimed.kind})

    async def _note_failure(
        self, claimed: Delivery, error: NotSent | ApiError | TimeoutError
    ) -> None:
        failed_at = self._dependencies.clock()
        problem, retry_at, refused = f"no answer within {SEND_SECONDS:g} s", 0, False
        if isinstance(error, ApiError):
            problem = error.message
        elif isinstance(error, NotSent):
            problem, refused = error.problem, error.refused
            retry_at = failed_at + round((error.retry_after_seconds or 0) * 1000)
        log.warning("not delivered", extra={"delivery": claimed.id, "reason": problem})
        await self._dependencies.in_registry(
            lambda: self._notices.not_delivered(
                claimed, problem, failed_at, retry_at=retry_at, give_up=refused
            )
        )

    async def _send(
        self, delivery: Delivery, notice: Notice, reports: dict[str, MadeReport]
    ) -> None:
        """NotSent."""
        registry = self._dependencies.registry
        website = registry.websites.get(notice.website_id)
        saved: Mapping[str, object] = registry.saved.of_website(notice.website_id).by_id
        source = saved.get(notice.alert_id or notice.report_id or "")
        if website is None or not isinstance(source, Alert | Report):
            raise NotSent("The alert or report was deleted", refused=True)
        is_test = notice.event is NoticeEvent.TEST
        if (
            isinstance(source, Alert)
            and not is_test
            and is_muted(source, self._dependencies.clock())
        ):
            raise NotSent(MUTED, refused=True)  # since it fired
        if isinstance(source, Report) and notice.id not in reports:
            span = (notice.start_at, notice.end_at)
            reports[notice.id] = await make_report(self._dependencies, source, span)
        if delivery.kind == EMAIL:
            await self._mail(delivery, notice, source, website, reports)
            return
        channel = saved.get(delivery.target)
        if not isinstance(channel, Channel):
            raise NotSent(NO_CHANNEL, refused=True)
        if channel.id not in source.channels:
            raise NotSent(REMOVED, refused=True)
        message = (
            alert_message(self._dependencies, source, website, notice)
            if isinstance(source, Alert)
            else message_of(reports[notice.id], notice.created_at)
        )
        opened = open_channel(channel, self._dependencies.sign_ins.secret)
        await send(opened, message, delivery.id, self._dependencies.clock(), self._http)

    async def _mail(
        self,
        delivery: Delivery,
        notice: Notice,
        source: Alert | Report,
        website: Website,
        reports: Mapping[str, MadeReport],
    ) -> None:
        dependencies, recipient = self._dependencies, delivery.target
        if dependencies.access.mailer is None:
            raise NotSent(NO_MAIL)
        if recipient not in source.recipients:
            raise NotSent("The recipient gets no more of these mails", refused=True)
        if isinstance(source, Alert):
            message = alert_message(dependencies, source, website, notice)
            mail = notice_mail(
                recipient,
                message.title,
                message.sentence,
                [(fact.label, fact.value) for fact in message.facts],
                message.link,
                website=message.website,
                delivery_id=delivery.id,
                unsubscribe=unsubscribe_url(
                    dependencies.access.query_url,
                    dependencies.sign_ins,
                    source.id,
                    recipient,
                    dependencies.clock(),
                ),
            )
        else:
            mail = mail_of(dependencies, reports[notice.id], recipient, delivery.id)
        try:
            await dependencies.access.mailer.send(mail)
        except MailNotSent as error:
            raise NotSent(str(error)) from None


def open_channel(channel: Channel, secret: bytes) -> OpenedChannel:
    """The channel with its secrets; NotSent when they cannot be read."""
    try:
        return OpenedChannel(
            kind=channel.kind,
            address=open_channel_field(channel.address, secret),
            token=open_channel_field(channel.token, secret),
            chat=channel.chat or "",
            signing_secret=open_channel_field(channel.signing_secret, secret),
        )
    except InvalidSealedText:
        raise NotSent(RESEALED, refused=True) from None
