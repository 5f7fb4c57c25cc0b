"""Delivers notices: claims what is due, sends it, and writes what became of it.

Killed between sending and writing, a delivery is sent again two minutes later, with the same id: in
`webhook-id`, and in the Message-ID of a mail, by which receivers recognize it.
"""

import asyncio
import logging
from collections import Counter
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
MAX_REPORTS = 8
"""In memory."""
SEND_SECONDS = 90.0
"""For one attempt, less than the time until the next."""
MAX_MAILS_AN_HOUR, HOUR_MS = 2_000, 3_600_000
"""Of one organization: recipients have not agreed to anything."""
NO_MAIL = "No mail is sent here: the operator sets TIDEMARK_SMTP_URL"
FAULT = "An internal error; the log of the query service has more"
NO_CHANNEL = "The channel was deleted"
REMOVED = "The channel gets no more of these"
MUTED = "The alert is muted"
RESEALED = "The secrets of the channel cannot be read after a restore; create it anew"


class Deliveries:
    """Sends what is due; correct also when several processes do."""

    def __init__(self, dependencies: QueryDependencies, notices: RegistryNotices) -> None:
        self._dependencies = dependencies
        self._notices = notices
        self._http = GuardedHttp(dependencies.webhook_networks)
        self._reports: dict[str, asyncio.Future[MadeReport]] = {}
        """Those that were made last, by notice."""
        self._mails: Counter[tuple[str, int]] = Counter()
        """Mails of an organization in an hour."""

    async def deliver_due(self) -> int:
        """Try what is due, a batch at most; the number of attempts."""
        now = self._dependencies.clock()
        due = await self._dependencies.in_registry(lambda: self._notices.due(now, BATCH))
        turns = asyncio.Semaphore(CONCURRENCY)
        if not due:  # a later attempt reads its report again: values may be erased by then
            self._reports.clear()

        async def in_turn(delivery: Delivery, notice: Notice) -> None:
            async with turns:
                await self._attempt(delivery, notice)

        await asyncio.gather(*(in_turn(delivery, notice) for delivery, notice in due))
        return len(due)

    async def _attempt(self, delivery: Delivery, notice: Notice) -> None:
        dependencies, notices = self._dependencies, self._notices
        now = dependencies.clock()
        claimed = await dependencies.in_registry(lambda: notices.claim(delivery, now))
        if claimed is None:
            return
        try:
            async with asyncio.timeout(SEND_SECONDS):
                await self._send(claimed, notice)
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

    async def _send(self, delivery: Delivery, notice: Notice) -> None:
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
        if delivery.kind == EMAIL:
            await self._mail(delivery, notice, source, website)
            return
        channel = saved.get(delivery.target)
        if not isinstance(channel, Channel):
            raise NotSent(NO_CHANNEL, refused=True)
        if channel.id not in source.channels:
            raise NotSent(REMOVED, refused=True)
        message = (
            alert_message(self._dependencies, source, website, notice)
            if isinstance(source, Alert)
            else message_of(await self._made(source, notice), notice.created_at)
        )
        opened = open_channel(channel, self._dependencies.sign_ins.secret)
        await send(opened, message, delivery.id, self._dependencies.clock(), self._http)

    async def _made(self, report: Report, notice: Notice) -> MadeReport:
        """The report, read once for all who get it; ApiError."""
        making = self._reports.get(notice.id)
        if making is None:
            span = (notice.start_at, notice.end_at)
            making = asyncio.ensure_future(make_report(self._dependencies, report, span))
            self._reports[notice.id] = making
            if len(self._reports) > MAX_REPORTS:
                del self._reports[next(iter(self._reports))]
        try:
            return await asyncio.shield(making)
        except Exception:  # whatever it is: the next attempt reads it again
            self._reports.pop(notice.id, None)
            raise

    async def _mail(
        self,
        delivery: Delivery,
        notice: Notice,
        source: Alert | Report,
        website: Website,
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
            made = await self._made(source, notice)
            mail = mail_of(dependencies, made, recipient, delivery.id)
        self._count_mail(website.organization_id)
        try:
            await dependencies.access.mailer.send(mail)
        except MailNotSent as error:
            log.warning("mail not sent", extra={"delivery": delivery.id, "reason": str(error)})
            raise NotSent(error.public) from None

    def _count_mail(self, organization_id: str) -> None:
        """NotSent when the organization has sent too many."""
        hour, into_hour_ms = divmod(self._dependencies.clock(), HOUR_MS)
        if (organization_id, hour) not in self._mails:
            self._mails = Counter({key: n for key, n in self._mails.items() if key[1] == hour})
        if self._mails[organization_id, hour] >= MAX_MAILS_AN_HOUR:
            raise NotSent(
                f"The organization has sent {MAX_MAILS_AN_HOUR:,} mails in this hour; more are "
                "sent in the next",
                (HOUR_MS - into_hour_ms) / 1000,
            )
        self._mails[organization_id, hour] += 1


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
