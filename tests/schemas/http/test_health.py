"""Health checks that read files are cached."""

from schemas.http.health import remembered


def test_a_flood_of_health_checks_reads_files_once_a_second() -> None:
    now, looks = [100.0], [0]

    def look() -> str:
        looks[0] += 1
        return f"look {looks[0]}"

    check = remembered(look, clock=lambda: now[0])

    results = []
    for second in (0, 0, 0.9, 1.0, 1.1, 5.0):
        now[0] = 100 + second
        results.append(check())

    assert results == ["look 1", "look 1", "look 1", "look 2", "look 2", "look 3"]
