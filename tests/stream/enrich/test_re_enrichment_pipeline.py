"""The steps that run again on stored rows."""

from stream.enrich.re_enrichment_pipeline import RE_ENRICHMENT_PIPELINE


def test_steps_that_need_only_stored_columns_run_again_in_their_order() -> None:
    assert [step.name for step in RE_ENRICHMENT_PIPELINE] == [
        "put_script_urls",
        "put_page",
        "put_campaign",
        "put_referrer",
        "put_channel",
        "put_user_agent",
        "put_bot",
        "put_outbound_link",
        "put_rules_version",
    ]
