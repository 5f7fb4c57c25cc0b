"""What the steps look things up in: caches of plain dicts, and whose website a subject is.

A worker sees few distinct agents, pages and visitors at a time. A dict answers in a twentieth of
the time that the libraries' own caches take.
"""

from collections.abc import Callable, Hashable
from typing import TypeVar

from publicsuffixlist import PublicSuffixList

from stream.enrich.places import Places

Question = TypeVar("Question", bound=Hashable)
Answer = TypeVar("Answer")

SIZE = 65_536


class Memo(dict[Question, Answer]):
    """Answers that were worked out before; emptied when full, so that no input can grow it."""

    def __init__(self, answer: Callable[[Question], Answer], size: int = SIZE) -> None:
        super().__init__()
        self._answer = answer
        self._size = size

    def __missing__(self, question: Question) -> Answer:
        if len(self) >= self._size:
            self.clear()
        answer = self[question] = self._answer(question)
        return answer


def read_domain(host: str) -> str:
    """The domain that a host belongs to (`shop.a.co.uk` → `a.co.uk`); an address is its own."""
    if host.startswith("[") or host.rpartition(".")[2].isdecimal():
        return host
    return _suffixes.privatesuffix(host) or host


def is_domain(host: str) -> bool:
    """Whether a host ends as registered domains do: `a.co.uk`, and not `index.html`."""
    return "." in host and _suffixes.publicsuffix(host, accept_unknown=False) is not None


_suffixes = PublicSuffixList()
registrable: Memo[str, str] = Memo(read_domain)


class Lookups:
    """Handed down the line."""

    def __init__(
        self,
        places: Places | None = None,
        domain_of: Callable[[str], str | None] = lambda website: None,  # noqa: ARG005
    ) -> None:
        self.places = places or Places()
        self.domain_of = domain_of
        """The website's domain, as the registry has it."""
