"""Metrics in short text: `visitors, conversions(Sign-up), sum(properties.price) as turnover`.

A metric is a name, or a name with arguments in parentheses: of `conversions` and `conversion_rate`
a goal, of `revenue`, `orders` and `average_order_value` a currency or a money property, of
`formula` an expression over metrics (`formula(page_views / visits) as pages_per_visit`), of `sum`,
`avg`, `median`, `p95` and the other aggregates a property. Further arguments have names:
`sum(properties.total, event = purchase)`, `revenue(Orders, currency = EUR)`. `as` gives the column
a name. Text with commas, parentheses or quotes is quoted.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from query.client.errors import wrong_argument

_QUOTED = r""""[^"]*"|'[^']*'"""
_PIECE = re.compile(rf"""\s*((?:{_QUOTED}|\((?:{_QUOTED}|[^()"'])*\)|[^,"'()])+)(?:,|$)""")
_TERM = re.compile(
    r"\s*(?P<metric>\w+)\s*(?:\((?P<arguments>.*)\))?(?:\s+as\s+(?P<name>\w+))?\s*",
    re.DOTALL | re.IGNORECASE,
)
_ARGUMENT = re.compile(rf"""\s*(?:(?P<name>\w+)\s*=\s*)?(?P<value>{_QUOTED}|[^,"']+?)\s*(?:,|$)""")
_OF_MONEY = ("revenue", "orders", "average_order_value")
_FIRST = {
    **dict.fromkeys(("conversions", "conversion_rate", "conversion_value"), "goal"),
    **dict.fromkeys(_OF_MONEY, "money"),
    "formula": "formula",
}
"""What the argument without a name is; a property of all others."""
_MEMBERS = ("property", "event", "goal", "money", "currency", "formula")
_CURRENCY = re.compile("[A-Z]{3}")
_METRIC_EXAMPLE = (
    'write it as in "visitors", "conversions(Sign-up)" or "sum(properties.price) as turnover"'
)


def parse_metrics(given: Any) -> list[Any]:
    """The metrics of a request, from a text, or from a list of texts and dicts."""
    if isinstance(given, str):
        return [_parse_term(piece) for piece in _term_pieces(given, _PIECE, given)]
    if isinstance(given, Mapping):
        return [dict(given)]
    return [each for one in given for each in _parsed(one)]


def _parsed(given: Any) -> Sequence[Any]:
    return parse_metrics(given) if isinstance(given, str) else [given]


def _term_pieces(text: str, pattern: "re.Pattern[str]", whole: str) -> list[str]:
    """The parts between commas; InvalidRequest when quotes or parentheses do not match."""
    found, at = [], 0
    while at < len(text):
        match = pattern.match(text, at)
        if match is None:
            raise wrong_argument(f"metric '{whole}' cannot be read; {_METRIC_EXAMPLE}", "metrics")
        found.append(match[0].strip().removesuffix(",").strip())
        at = match.end()
    return found


def _parse_term(text: str) -> Any:
    """A name, or a dict with the arguments of the metric."""
    match = _TERM.fullmatch(text)
    if match is None:
        raise wrong_argument(f"metric '{text}' cannot be read; {_METRIC_EXAMPLE}", "metrics")
    term: dict[str, Any] = {"metric": match["metric"]}
    for argument in _term_pieces(match["arguments"] or "", _ARGUMENT, text):
        name, value = _argument(argument, match["metric"], text)
        if name in term:
            raise wrong_argument(f"metric '{text}' has two arguments '{name}'", "metrics")
        term[name] = value
    if match["name"]:
        term["as"] = match["name"]
    return term if len(term) > 1 else term["metric"]


def _argument(argument: str, metric: str, text: str) -> tuple[str, str]:
    """The member of the metric that an argument is, and its value."""
    match = _ARGUMENT.fullmatch(argument)
    if match is None:
        raise wrong_argument(f"metric '{text}' cannot be read; {_METRIC_EXAMPLE}", "metrics")
    value, name = match["value"], match["name"]
    if value[0] in "\"'":
        value = value[1:-1]
    elif name is None and metric in _OF_MONEY and _CURRENCY.fullmatch(value):
        return "currency", value
    if name is None:
        return _FIRST.get(metric, "property"), value
    if name not in _MEMBERS:
        known = ", ".join(_MEMBERS)
        raise wrong_argument(f"metric '{text}': '{name}' is not one of {known}", "metrics")
    return name, value
