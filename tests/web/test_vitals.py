"""Web vitals: percentiles, ratings and shares are those of the API."""

from tests.web.dashboard import Dashboard

BY_GROUP = "Side by side"
VITALS = ("LCP", "INP", "CLS", "FCP", "TTFB")
TOTALS = """Object.fromEntries([...document.querySelectorAll(".vitals .total")].map((total) =>
  [total.querySelector(".total-label").innerText.split(" ")[0],
   [total.querySelector(".total-value").innerText, total.querySelector(".rating-bar")
     ? total.querySelector(".rating-bar").getAttribute("aria-label") : ""]]))"""


def test_percentiles_and_shares_are_those_of_the_api(dashboard: Dashboard) -> None:
    dashboard.open("vitals")
    dashboard.until("document.querySelectorAll('.rating-bar').length === 3")
    totals: dict[str, list[str]] = dashboard.until(TOTALS)
    measured = {row["metric_name"]: row for row in dashboard.ask("vitals_overview")}
    assert {name for name in VITALS if totals[name][1]} == set(measured)

    value, shares = totals["LCP"]
    assert value.split("\n")[0].strip() == f"{measured['LCP']['p75'] / 1000:.2f} s"
    samples = measured["LCP"]["samples"]
    assert value.split("\n")[-1].strip() == f"Poor · {samples} measurements"
    metrics = ("good_lcp", "needs_improvement_lcp", "poor_lcp")
    [row] = dashboard.metrics(*metrics)
    assert shares == "LCP: good {}%, needs improvement {}%, poor {}%".format(
        *(f"{row[metric]:.1f}" for metric in metrics)
    )


def test_another_vital_is_drawn_over_time(dashboard: Dashboard) -> None:
    dashboard.open("vitals", by="hourly")
    dashboard.tab.js(
        "[...document.querySelectorAll('.vitals .total button')].find("
        "(b) => b.innerText.startsWith('INP')).click()"
    )
    dashboard.until("location.search.includes('vital=INP')")
    dashboard.settle()
    dashboard.press("Show as table")
    series = dashboard.ask("web_vitals_time_series", granularity="hourly")
    expected = ["–" if row["p75_inp"] is None else f"{row['p75_inp']:.0f} ms" for row in series]
    assert [row[1] for row in dashboard.rows("75th percentile: interaction")] == expected


def test_tables_rate_each_page_and_device_in_words(dashboard: Dashboard) -> None:
    dashboard.open("vitals")
    [page] = dashboard.ask("web_vitals_by_page")
    [shown] = dashboard.rows(BY_GROUP)
    assert shown[0] == page["name"]
    assert shown[1].split() == [f"{page['p75_lcp'] / 1000:.2f}", "s", "poor"]
    heads = "[...document.querySelectorAll('section[aria-label=\"Side by side\"] th[scope=col]')]"
    titles = dashboard.until(f"{heads}.map((head) => head.innerText.trim())")
    of_all = sum(row["samples"] for row in dashboard.ask("vitals_overview"))
    assert shown[titles.index("Measurements of all vitals\u00a0↓")] == str(of_all)


def test_each_vital_of_a_page_has_its_samples_and_few_are_uncertain(dashboard: Dashboard) -> None:
    dashboard.open("vitals")
    rows = dashboard.rows("Pages: what needs attention")
    expected = {row["metric_name"]: row for row in dashboard.ask("vitals_by_page")}
    assert {row[1]: row[-1] for row in rows} == {
        name: f"{row['samples']} uncertain" for name, row in expected.items()
    }
    assert rows[0][2].split("\n")[-1].split(" ")[-1] == "poor"  # the worst first
    assert dashboard.text(".advice").startswith("No page has 50 measurements")


def test_groups_are_sorted_by_a_vital(dashboard: Dashboard) -> None:
    dashboard.open("vitals", group="web_vitals_by_browser")
    dashboard.press("LCP", f"[aria-label='{BY_GROUP}'] thead")
    dashboard.until("location.search.includes('groupSort=p75_lcp')")
    dashboard.settle()
    order = [{"field": "p75_lcp", "direction": "desc"}]
    rows = dashboard.ask("web_vitals_by_browser", orderBy=order)
    assert [row[0] for row in dashboard.rows(BY_GROUP)] == [row["name"] for row in rows]
