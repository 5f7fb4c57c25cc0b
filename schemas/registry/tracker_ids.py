"""Ids by which trackers of other products name a website: the names of aliases, and their form.

An alias is public and anybody with an organization registers one. So it can be no id or key of
ours: what is sent with those belongs to whom they name.
"""

import re

import sqlalchemy as sa

from schemas.errors import Malformed
from schemas.registry.api_keys import KEY_PREFIX
from schemas.registry.record_mapping import RECORD_TABLES
from schemas.registry.records import Link, Organization, Record, Website
from schemas.registry.saved_records import Alias
from schemas.registry.transaction import WriteTransaction

OWN_FORM = re.compile(
    rf"web_[A-Za-z0-9]{{12}}|org_[A-Za-z0-9]{{10}}|lnk_[A-Za-z0-9]{{12}}|{KEY_PREFIX}_.*"
)
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
OWN_ID = (
    "'name' is '{name}', which is or looks like an id or key of Tidemark's own; "
    "trackers may send a website id without an alias"
)


def normal_name(product: str, name: str) -> str:
    """The name as it is registered and looked up: a domain in lower case, without a final dot."""
    return name.lower().rstrip(".") if product == "plausible" else name


def validate_alias_name(product: str, name: str) -> str:
    """The name in its normal form; Malformed for control characters and the form of our ids."""
    if found := CONTROL.search(name):
        raise Malformed(f"'name' has the control character U+{ord(found[0]):04X}; remove it")
    if OWN_FORM.fullmatch(name):
        raise Malformed(OWN_ID.format(name=name[:60]))
    normal = normal_name(product, name)
    if not normal:
        raise Malformed(f"'name' is '{name[:60]}'; give a domain")
    return normal


def check_alias_name(transaction: WriteTransaction, record: Record) -> None:
    """Malformed when an alias has the id of a website, an organization or a link as its name."""
    if not isinstance(record, Alias):
        return
    for kind in (Website, Organization, Link):
        table = RECORD_TABLES[kind]
        same_id = sa.select(table.c.id).where(table.c.id == record.name)
        if transaction.connection.execute(same_id).first() is not None:
            raise Malformed(OWN_ID.format(name=record.name))
