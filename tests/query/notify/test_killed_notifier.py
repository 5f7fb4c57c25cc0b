"""A notifier that is killed at every step tells each thing once, at real receivers."""

import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import Struct

from query.resources.saved_types import SAVED_TYPES, convert_body, new_record, with_secret
from schemas.registry import Alert, Channel, RegistryStore, SavedRecord, Website
from schemas.runtime.settings import Settings
from tests.query.notify.mortal_notifier import DEAD
from tests.query.notify.webhook_receiver import WebhookReceiver
from tests.query.query_service import NOW, filled_registry
from tests.smtp_server import SmtpServer

pytestmark = pytest.mark.long

LATER_MS = 180_000
"""After the lease of the dead one and the time until a delivery is tried again."""
MAX_STEPS = 60
UNWRITTEN = ("after mail", "after webhook", "before delivered")
"""Steps after which a receiver has the message, and the row does not say so."""


class Receivers(Struct):
    """A mail server and a webhook, and the folder of the registry."""

    smtp: SmtpServer
    webhook: WebhookReceiver
    folder: Path

    def run(self, step: int, now_ms: int) -> tuple[int, str]:
        """Exit status of a notifier, and the step at which it died."""
        module = "tests.query.notify.mortal_notifier"
        arguments = [str(self.folder), str(self.smtp.port), str(now_ms), str(step)]
        done = subprocess.run(
            [sys.executable, "-m", module, *arguments], capture_output=True, text=True, check=False
        )
        assert done.returncode in (0, DEAD), done.stderr
        return done.returncode, done.stdout.strip()


@pytest.fixture
def receivers(tmp_path: Path) -> Iterator[Receivers]:
    with SmtpServer() as smtp, WebhookReceiver() as webhook:
        yield Receivers(smtp, webhook, tmp_path)


def prepare(receivers: Receivers) -> None:
    """A registry with one alert that fires at its first check, by mail and by webhook."""
    receivers.smtp.messages.clear()
    receivers.webhook.requests.clear()
    shutil.rmtree(receivers.folder)
    receivers.folder.mkdir()
    template, _ = filled_registry()
    path = Path(Settings(data_dir=str(receivers.folder)).registry_url.removeprefix("sqlite:///"))
    shutil.copyfile(template, path)
    store = RegistryStore(f"sqlite:///{path}")
    website, secret = store.get(Website, "shop"), store.sign_ins().read(NOW).secret

    def create(record: type[SavedRecord], **members: object) -> SavedRecord:
        saved = next(one for one in SAVED_TYPES if one.record is record)
        body = convert_body(saved.bodies.new, members)
        made = new_record(record, website, body, NOW - LATER_MS, secret)
        return store.create(with_secret(made, secret)[0])

    channel = create(Channel, name="hook", kind="webhook", address=receivers.webhook.url)
    create(
        Alert,
        name="Near the limit",
        signal="rate_limit",
        condition="above",
        threshold=-1,
        recipients=["ops@shop.example"],
        channels=[channel.id],
    )
    store.close()


def test_each_thing_is_told_once_whatever_step_the_notifier_dies_at(receivers: Receivers) -> None:
    died_at: Counter[str] = Counter()
    for step in range(1, MAX_STEPS):
        prepare(receivers)
        status, name = receivers.run(step, NOW)
        died_at[name] += 1
        if status == DEAD:
            assert receivers.run(0, NOW + LATER_MS) == (0, "")

        mails = [message["Message-ID"] for message in receivers.smtp.messages]
        hooks = [request.headers["webhook-id"] for request in receivers.webhook.requests]
        assert (len(set(mails)), len(set(hooks))) == (1, 1), name
        sent_again = len(mails) + len(hooks) - 2
        assert sent_again <= (1 if name in UNWRITTEN else 0), name
        if status == 0:
            break

    assert died_at[""] == 1, "it never came to an end"
    assert died_at["after record_check"] == 1
    assert died_at["after mail"] + died_at["after webhook"] == 2  # in either order
    assert died_at["before delivered"] == 2
