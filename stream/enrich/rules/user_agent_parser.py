"""Rules over user agents, compiled once, and shared: they take 40 MB.

One engine looks at a text with all rules of a list at once and answers with the first that fits:
2 µs for 1,500 patterns, where a loop of `re` takes 500. It has no look-around; what would need that
is told by the order of rules. The published rules for devices are left out: they tell models.
"""

from collections.abc import Iterable

from ua_parser.loaders import load_lazy_builtins
from ua_parser.matchers import OSMatcher, UserAgentMatcher
from ua_parser.regex import Resolver
from ua_parser_rs import UserAgentExtractor

from stream.enrich.rules.user_agent_overrides import APP_BROWSERS, OS_PATTERNS

PatternRule = tuple[str, str]
"""What an agent is that fits, and the pattern."""

_browsers, _systems, _ = load_lazy_builtins()
USER_AGENT_PARSER = Resolver(
    (
        [*(UserAgentMatcher(pattern, name) for name, pattern in APP_BROWSERS), *_browsers],
        [*(OSMatcher(pattern, name) for name, pattern in OS_PATTERNS), *_systems],
        [],
    )
)


class PatternRules:
    """An ordered list of rules: the first that fits tells what it is, and what of the text fitted.

    Each pattern has one group, around what it knows the agent by.
    """

    def __init__(self, rules: Iterable[PatternRule]) -> None:
        # The engine is made for browsers: what fitted is the name, what it is stands for a version.
        self._engine = UserAgentExtractor(
            (pattern, None, what, "0", "0", "0") for what, pattern in rules
        )

    def first_match(self, text: str) -> PatternRule | None:
        """What the text is, and the part of it that tells so."""
        found = self._engine.extract(text)
        return None if found is None else (found.major or "", found.family)
