"""Saved records in memory: found by id and name, followed by the changes of the registry."""

from schemas.registry import (
    Annotation,
    Goal,
    RegistryFollower,
    RegistryStore,
    Segment,
    Snapshot,
    Website,
    validation,
)
from tests.schemas.registry.filled_registry import NOW, furnished, saved_records


def test_a_record_is_found_by_id_or_name_within_its_website(store: RegistryStore) -> None:
    _, website, *_ = furnished(store)
    saved = Snapshot.read(store).saved

    goal, segment, annotation, *_ = saved_records(website)

    assert saved.of_website(website.id).find(Goal, goal.id) == goal
    assert saved.of_website(website.id).find(Segment, "German") == segment
    assert saved.of_website(website.id).find(Goal, "German") is None
    assert saved.of_website(website.id).find(Goal, segment.id) is None
    assert saved.of_website("web_other").find(Goal, goal.id) is None
    assert saved.of_website(website.id).of(Annotation) == [annotation]
    assert saved.of_website("web_other").of(Annotation) == []


def test_an_id_is_preferred_to_a_name(store: RegistryStore) -> None:
    _, website, *_ = furnished(store)
    store.update(Goal, "goal_a", NOW, name="seg_a")
    goal, *_ = saved_records(website, "b")
    store.create(goal)
    store.update(Goal, "goal_b", NOW, name="goal_a")

    found = Snapshot.read(store).saved.of_website(website.id).find(Goal, "goal_a")

    assert found is not None
    assert found.id == "goal_a"


def test_a_follower_sees_created_changed_and_deleted_records(store: RegistryStore) -> None:
    owner, website, *_ = furnished(store)
    second = store.create(validation.new_website(owner.id, "b.example", NOW))
    follower = RegistryFollower(store)
    before = follower.snapshot.saved
    goal, *_ = saved_records(second, "b")

    store.create(goal)
    renamed = store.update(Goal, "goal_a", NOW, name="Purchase")
    store.delete(Segment, "seg_a")
    after = follower.refresh().saved

    assert after.of_website(second.id).of(Goal) == [goal]
    assert after.of_website(website.id).of(Goal) == [renamed]
    assert after.of_website(website.id).of(Segment) == []
    assert [s.id for s in before.of_website(website.id).of(Segment)] == ["seg_a"]
    assert before.of_website(second.id).of(Goal) == []
    assert after == Snapshot.read(store).saved


def test_an_unrelated_change_shares_the_records(store: RegistryStore) -> None:
    _, website, *_ = furnished(store)
    follower = RegistryFollower(store)
    before = follower.snapshot.saved

    store.update(Website, website.id, NOW, name="Shop")

    assert follower.refresh().saved is before
