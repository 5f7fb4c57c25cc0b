"""Modules and classes carry the words of the glossary, and each class name stands for one thing."""

from collections import defaultdict

from tests.repo.source_tree import PACKAGES, classes, sources

SHARED_CLASS_NAMES: dict[str, str] = {}
"""Class names that two packages define, each with the reason."""


def test_a_class_name_is_defined_in_one_package() -> None:
    packages = defaultdict(set)
    for package in PACKAGES:
        for source in sources(package):
            for name in classes(source):
                packages[name].add(package)

    assert {name for name, users in packages.items() if len(users) > 1} == set(SHARED_CLASS_NAMES)
