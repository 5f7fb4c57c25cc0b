"""`tidemark settings` and `tidemark topics`: effective settings, required and existing topics."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click
import msgspec

from deploy.cli.context import CliContext, as_json, print_json, print_rows
from deploy.docs.settings_table import describe_settings

if TYPE_CHECKING:
    from deploy.local.kafka.topic_configuration import ExistingTopic

TOPIC_COLUMNS = (
    *("name", "partitions", "in_kafka", "replication", "retention_hours"),
    *("without_leader", "below_min_in_sync", "out_of_sync"),
)


@click.command()
@as_json
@click.pass_obj
def settings(tidemark: CliContext, json: bool) -> None:
    """Show every setting: variable, value, bounds and meaning."""
    described = list(describe_settings(tidemark.settings))
    if json:
        return print_json(described)
    for setting in described:
        bounds = f"; {setting.bounds}" if setting.bounds else ""
        click.echo(f"{setting.variable}={setting.value}")
        click.echo(f"    {setting.meaning} (default: {setting.default or 'empty'}{bounds})")
    return None


@click.command()
@click.option(
    "--declare",
    "declare",
    is_flag=True,
    help="Create missing topics and partitions; never removes any.",
)
@as_json
@click.pass_obj
def topics(tidemark: CliContext, declare: bool, json: bool) -> None:
    """Show the topics: partitions required by the settings, and partitions in Kafka.

    Partitions without a leader, or with too few replicas in sync, reject messages. Those that are
    out of sync lack a replica, such as one on a broker that does not answer.
    """
    # Imported here: `tidemark settings` needs no client of Kafka.
    from deploy.local.kafka.broker import KafkaUnavailable
    from deploy.local.kafka.topic_configuration import kafka_state
    from deploy.local.kafka.topics import ensure_topics, required_topics

    wanted = required_topics(tidemark.settings)
    try:
        if declare:
            ensure_topics(tidemark.settings, wanted)
        state = kafka_state(tidemark.settings, [topic.name for topic in wanted])
    except KafkaUnavailable as error:
        raise click.ClickException(str(error)) from None
    rows = [
        {**msgspec.to_builtins(topic), **_in_kafka(state.topics.get(topic.name))}
        for topic in wanted
    ]
    print_rows(rows, TOPIC_COLUMNS, json)
    for broker in state.away:
        click.echo(f"broker {broker} does not answer: start it, or look at its log", err=True)


def _in_kafka(topic: "ExistingTopic | None") -> Mapping[str, object]:
    if topic is None:
        return {"in_kafka": 0, "without_leader": [], "below_min_in_sync": [], "out_of_sync": []}
    return {
        "in_kafka": topic.partitions,
        "without_leader": list(topic.without_leader),
        "below_min_in_sync": list(topic.below_min_in_sync),
        "out_of_sync": list(topic.out_of_sync),
    }
