"""Revenue, orders and their mean: of the money properties of a website, each of one currency.

Amounts of different currencies are never added: a sum names its currency, or rows are grouped by
the dimension `currency`.
"""

from collections.abc import Sequence

from msgspec import Struct

from query.engine.engine import Row
from query.metrics.metric import Metric, Part, Source, Unit
from query.request.amounts import amount_sql
from query.request.property_path import parse_property
from query.request.suggestions import unknown_name_message
from query.response.bodies import ResultWarning
from query.sql.fragment import Fragment, all_of, merge_values
from query.standard.declaration.result_check import ResultCheck, left_out
from query.standard.declaration.statement import Statement
from schemas.errors import Malformed
from schemas.registry import MoneyProperty, SavedRecords
from schemas.registry.currencies import CURRENCIES

REVENUE = "revenue"
ORDERS = "orders"
MONEY_METRICS = {
    REVENUE: "sum of money properties of the website, in one currency",
    ORDERS: "events with an amount in a money property of the website, in one currency",
    "average_order_value": "mean amount of such an event; null without one",
}
CURRENCY = "currency"
CURRENCY_MEANING = "currency of the money property of the event"


class MoneyTerm(Struct, frozen=True):
    """What a metric of MONEY_METRICS names, and where it stands in the body."""

    at: str
    metric: str = REVENUE
    money: str | None = None
    currency: str | None = None


def choose_money(term: MoneyTerm, saved: SavedRecords) -> Sequence[MoneyProperty]:
    """The money properties of a term: the one that it names, or all; Malformed."""
    known = saved.of(MoneyProperty)
    if not known:
        raise Malformed(
            f"'{term.at}' needs a money property of the website; POST /v1/money saves one"
        )
    if term.money is not None:
        one = saved.find(MoneyProperty, term.money)
        if one is None:
            names = [record.name for record in known]
            where = f" in '{term.at}.money'"
            raise Malformed(unknown_name_message("money property", term.money, names, where))
        return [one]
    for i, record in enumerate(known):
        same = next((other for other in known[:i] if _counts_same_rows(other, record)), None)
        if same is not None:
            raise Malformed(
                f"'{term.at}': the money properties '{same.name}' and '{record.name}' are both of "
                f"the event '{record.event}', which would count twice; name one by 'money'"
            )
    return known


def money_metric(
    term: MoneyTerm, saved: SavedRecords, name: str, position: int, by_currency: bool
) -> Metric:
    """A metric of the amounts of one currency, or of each group if groups have one each."""
    chosen = choose_money(term, saved)
    currency = None if by_currency and term.currency is None else _currency(term, chosen)
    amounts = [
        _amount(record, f"metric{position}_money{i}", currency)
        for i, record in enumerate(chosen)
        if currency is None or record.currency in (None, currency)
    ]
    if not amounts:
        listed = ", ".join(sorted({str(record.currency) for record in chosen}))
        raise Malformed(f"'{term.at}.currency' is '{currency}'; the amounts are in {listed}")
    cases = " ".join(f"WHEN {a.condition.text} THEN {a.value.text}" for a in amounts)
    values = merge_values(*(merge_values(a.condition.values, a.value.values) for a in amounts))
    total = Part(f"revenue{position}", Source.ROWS, f"SUM(CASE {cases} END)", values)
    orders = Part(f"orders{position}", Source.ROWS, f"COUNT(CASE {cases} END)", values)
    what = f"'{term.money}'" if term.money else "money properties"
    of = f"{what} in {currency}" if currency else f"{what} in the currency of the row"
    checks = tuple(_unread(record) for record in chosen)
    if term.metric == REVENUE:
        sql = f"COALESCE({total.name}, 0)"
        return Metric(name, Unit.MONEY, f"sum of {of}", sql, (total,), checks)
    if term.metric == ORDERS:
        sql = f"COALESCE({orders.name}, 0)"
        return Metric(name, Unit.COUNT, f"events with an amount: {of}", sql, (orders,), checks)
    mean = f"CASE WHEN {orders.name} > 0 THEN {total.name} / {orders.name} END"
    return Metric(name, Unit.NUMBER, f"mean of {of}", mean, (total, orders), checks)


def currency_of_row(chosen: Sequence[MoneyProperty], prefix: str) -> Fragment:
    """The currency of the amount that a row has; NULL without one."""
    cases, values = [], []
    for i, record in enumerate(chosen):
        amount = _amount(record, f"{prefix}_money{i}", None)
        code = _code(record, f"{prefix}_code{i}")
        cases.append(f"WHEN {amount.condition.text} THEN {code.text}")
        values += [amount.condition.values, amount.value.values, code.values]
    return Fragment(f"CASE {' '.join(cases)} END", merge_values(*values))


def _counts_same_rows(one: MoneyProperty, other: MoneyProperty) -> bool:
    return (one.website_id, one.event) == (other.website_id, other.event)


class _Amount(Struct, frozen=True):
    condition: Fragment
    value: Fragment


def _amount(record: MoneyProperty, prefix: str, currency: str | None) -> _Amount:
    """The amount of a money property, and the condition on rows that have one."""
    property_ = parse_property(record.property, f"{prefix}_path", "property")
    code = _code(record, f"{prefix}_code")
    value = Fragment(
        amount_sql(property_, code.text), {property_.parameter: property_.pointer, **code.values}
    )
    conditions = [_of_event(record, prefix), Fragment(f"{value.text} IS NOT NULL")]
    if currency is not None and record.currency is None:
        bound = f"{prefix}_currency"
        conditions.append(Fragment(f"{code.text} = ${bound}", {**code.values, bound: currency}))
    return _Amount(all_of(*conditions), value)


def _of_event(record: MoneyProperty, prefix: str) -> Fragment:
    """The condition on events that the money property is of."""
    website, event = f"{prefix}_website", f"{prefix}_event"
    values = {website: record.website_id, event: record.event}
    return Fragment(f"website_id = ${website} AND name = ${event}", values)


def _unread(record: MoneyProperty) -> ResultCheck:
    """Whether amounts are left out."""
    property_ = parse_property(record.property, "check_path", "property")
    event, code = _of_event(record, "check"), _code(record, "check_code")
    statement = Statement(
        sql=f"""
            SELECT COUNT(*) AS unread, MAX({property_.text}) AS example
              FROM scoped
             WHERE {event.text}
               AND {property_.text} IS NOT NULL
               AND {amount_sql(property_, code.text)} IS NULL
             ORDER BY unread
        """,  # noqa: S608
        values={**event.values, **code.values, property_.parameter: property_.pointer},
    )

    def warnings(row: Row) -> Sequence[ResultWarning]:
        count, example = row
        return (left_out(f"'{record.name}'", count, example),) if count else ()

    return ResultCheck(statement, warnings)


def _code(record: MoneyProperty, prefix: str) -> Fragment:
    """The code of the currency of a row."""
    if record.currency_property is None:
        return Fragment(f"CAST(${prefix} AS VARCHAR)", {prefix: record.currency})
    property_ = parse_property(record.currency_property, prefix, "currencyProperty")
    return Fragment(f"UPPER({property_.text})", {property_.parameter: property_.pointer})


def _currency(term: MoneyTerm, chosen: Sequence[MoneyProperty]) -> str:
    """The currency that is asked for, or the only one that there can be; Malformed."""
    if term.currency is not None:
        if (code := term.currency.upper()) not in CURRENCIES:
            raise Malformed(
                f"'{term.at}.currency' is '{term.currency[:20]}'; give a code of ISO 4217, such as "
                "EUR"
            )
        return code
    codes = {record.currency for record in chosen}
    [only] = codes if len(codes) == 1 else [None]
    if only is None:
        raise Malformed(
            f"'{term.at}': amounts may be in several currencies, which are not added; give "
            f"'currency', as in {{'metric': '{REVENUE}', 'currency': 'EUR'}}, or the dimension "
            f"'{CURRENCY}'"
        )
    return only
