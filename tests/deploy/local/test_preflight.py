import socket
from pathlib import Path

import pytest

from deploy.local.preflight import (
    CannotStart,
    ListenAddress,
    check_folder,
    check_geo_files,
    check_ports,
    exclusive_lock,
    listen_addresses,
)
from schemas.runtime.settings import Settings
from tests.installation import free_port


def test_a_port_in_use_is_named_with_the_setting_that_moves_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(CannotStart) as refused:
            check_ports(
                [ListenAddress("the collector", "127.0.0.1", port, "collect_port")], seconds=0
            )

    assert str(refused.value) == (
        f"port {port} for the collector is in use by another program. "
        "Stop that program, or set TIDEMARK_COLLECT_PORT."
    )


def test_a_port_that_another_would_share_is_in_use_too() -> None:
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(CannotStart, match=f"port {port} for the query service is in use"):
            check_ports(
                [ListenAddress("the query service", "127.0.0.1", port, "query_port")], seconds=0
            )


def test_free_ports_pass() -> None:
    check_ports(
        [ListenAddress("the collector", "127.0.0.1", free_port(), "collect_port")], seconds=0
    )


def test_two_services_cannot_have_one_port() -> None:
    port = free_port()
    settings = Settings(collect_port=port, query_port=port, kafka="kafka.example:9092")

    with pytest.raises(CannotStart) as refused:
        check_ports(listen_addresses(settings), seconds=0)

    assert str(refused.value) == (
        f"TIDEMARK_COLLECT_PORT and TIDEMARK_QUERY_PORT are both {port}. Set different ports."
    )


def test_an_existing_kafka_needs_no_port_of_a_broker() -> None:
    own = [address.setting for address in listen_addresses(Settings(metrics_port=0))]
    external = Settings(kafka="kafka.example:9092", metrics_port=0)
    existing = [address.setting for address in listen_addresses(external)]

    assert own == ["collect_port", "query_port", "broker_port", "broker_controller_port"]
    assert existing == ["collect_port", "query_port"]


def test_a_metrics_port_in_use_is_named_with_its_process() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        settings = Settings(kafka="k:9092", metrics_port=port - 1)
        taken = [each for each in listen_addresses(settings) if each.port == port]
        with pytest.raises(CannotStart) as refused:
            check_ports(taken, seconds=0)

    assert str(refused.value) == (
        f"port {port} for the metrics of worker-1 is in use by another program. "
        "Stop that program, or set TIDEMARK_METRICS_PORT."
    )


def test_a_metrics_host_that_is_none_is_named() -> None:
    settings = Settings(metrics_host="nohost.invalid")

    with pytest.raises(CannotStart, match="Change TIDEMARK_METRICS_PORT or TIDEMARK_METRICS_HOST"):
        check_ports(listen_addresses(settings)[-1:], seconds=0)


def test_metrics_cannot_have_the_port_of_a_service() -> None:
    port = free_port()
    settings = Settings(collect_port=free_port(), query_port=port, metrics_port=port)

    with pytest.raises(CannotStart, match=r"are both \d+ \(the metrics of collector-1\)"):
        check_ports(_of_settings(settings, "query_port", "metrics_port"), seconds=0)


def _of_settings(settings: Settings, *names: str) -> list[ListenAddress]:
    return [address for address in listen_addresses(settings) if address.setting in names]


def test_a_host_that_is_not_ours_is_a_clear_message() -> None:
    with pytest.raises(CannotStart, match=r"192\.0\.2\.1:4000 for the collector cannot be used"):
        check_ports([ListenAddress("the collector", "192.0.2.1", 4000, "collect_port")], seconds=0)


def test_a_folder_that_cannot_be_made_is_a_clear_message(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(CannotStart) as refused:
        check_folder(Settings(data_dir=str(tmp_path / "file" / "data")))

    assert str(refused.value) == (
        f"the data folder {tmp_path / 'file' / 'data'} cannot be written to: Not a directory. "
        "Set TIDEMARK_DATA_DIR to another folder."
    )


def test_a_full_disk_is_a_clear_message(tmp_path: Path) -> None:
    with pytest.raises(CannotStart, match=r"has \d+ MB free, minimum 1000000000 MB. Free"):
        check_folder(Settings(data_dir=str(tmp_path), disk_floor_mb=1_000_000_000))


def test_a_second_start_on_the_same_folder_is_refused(tmp_path: Path) -> None:
    with exclusive_lock(tmp_path):
        owner = (tmp_path / "lock").read_text().strip()
        with pytest.raises(CannotStart) as refused, exclusive_lock(tmp_path):
            pass

    assert str(refused.value) == (
        f"Tidemark already runs on {tmp_path} (process {owner}). "
        "Stop it first, or set TIDEMARK_DATA_DIR and the ports to run a second one."
    )


def test_the_folder_is_free_again_afterwards(tmp_path: Path) -> None:
    with exclusive_lock(tmp_path):
        pass

    with exclusive_lock(tmp_path):
        assert (tmp_path / "lock").exists()


def test_a_geo_database_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    there, missing = tmp_path / "there.mmdb", tmp_path / "missing.mmdb"
    there.touch()

    check_geo_files(Settings(geo=str(there)))
    check_geo_files(Settings())
    with pytest.raises(CannotStart) as refused:
        check_geo_files(Settings(geo=f"{there}, {missing}"))

    assert str(refused.value).startswith(
        f"TIDEMARK_GEO: {missing} cannot be read: No such file or directory. "
    )
