"""Modules and classes are named with the words of the glossary."""

import re

import pytest

from tests.repo.source_tree import PACKAGES, ROOT, classes, relative, sources


def replaced_words() -> set[str]:
    """The single words in the column "not" of the glossary's tables."""
    glossary = (ROOT / "schemas" / "GLOSSARY.md").read_text()
    columns = re.findall(r"^\| \*\*.*? \| .*? \| (.*?) \| .* \|$", glossary, re.MULTILINE)
    return {word for column in columns for word in re.split(r"[, ]+", column) if word.isalpha()}


def words_of(name: str) -> set[str]:
    """`HTTPConnection` and `http_connection` are the words http and connection."""
    return {word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)}


def test_the_glossary_lists_replaced_words() -> None:
    assert {"desk", "lane", "sieve", "surprise", "question"} <= replaced_words()


@pytest.mark.parametrize("package", PACKAGES)
def test_no_module_or_class_has_a_word_that_the_glossary_replaces(package: str) -> None:
    names = {
        f"{relative(source)}: {name}": words_of(name)
        for source in sources(package)
        for name in (source.parent.name, source.stem, *classes(source))
    }

    assert {name: words for name in names if (words := names[name] & replaced_words())} == {}
