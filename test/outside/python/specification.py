"""What the vendor's specification says of the three records, and the contract of what is published of them.

Written from the documents, not from the publisher: a fault of the publisher must not be repeated here.
"""

from types import SimpleNamespace

FENCE_KEY = "__highwater_fence"


def _all(kind, names):
    return dict.fromkeys(names.split(), kind)


def _accuracy():
    members = {}
    for period in ("1m", "3m", "9m", "1y", "2y", "3y"):
        for name in ("average_return", "smart_score", "stdev", "success_rate"):
            members[f"{period}_{name}"] = "decimal"
    for period in ("9m", "1y", "2y", "3y"):
        members[f"{period}_loss_count"] = "integer"
    return {
        **members,
        **_all("decimal", "overall_average_return overall_avg_return_percentile overall_stdev"),
        **_all("decimal", "overall_success_rate smart_score total_ratings_percentile"),
        **_all("integer", "overall_loss_count total_ratings"),
    }


FEEDS = {
    "insights": SimpleNamespace(
        path="/api/v1/analyst/insights",
        record_type="marketdata.insights.Insight",
        members={
            **_all("text", "action analyst_id analyst_insights date firm firm_id rating rating_id"),
            "pt": "decimal",
            "security": _all("text", "cik exchange isin name symbol"),
        },
        symbol=("security", "symbol"),
        empty_is_unknown=False,
        zero_is_unknown=(),
        zero_is_unknown_without={},
    ),
    "analysts": SimpleNamespace(
        path="/api/v2.1/calendar/ratings/analysts",
        record_type="marketdata.analysts.Analyst",
        members={
            **_all("text", "firm_id firm_name name_first name_last name_full"),
            "ratings_accuracy": _accuracy(),
        },
        symbol=None,
        empty_is_unknown=False,
        zero_is_unknown=(),
        zero_is_unknown_without={},
    ),
    "ipos": SimpleNamespace(
        path="/api/v2.1/calendar/ipos",
        record_type="marketdata.ipos.Ipo",
        members={
            **_all("text", "name ticker exchange currency date time deal_status ipo_type description notes"),
            **_all("text", "initial_filing_date pricing_date insider_lockup_date state_location"),
            **_all("text", "underwriter_quiet_expiration_date sec_accession_number sec_filing_url"),
            **_all("boolean", "pricing_date_verified open_date_verified spac_converted_to_target"),
            **_all("integer", "insider_lockup_days underwriter_quiet_expiration_days offering_shares"),
            **_all("integer", "offering_shares_ord_adr shares_outstanding ord_shares_out_after_offer"),
            **_all("integer", "last_yr_income_year last_yr_revenue_year sic"),
            **_all("number", "offering_value market_cap_at_offer last_yr_income last_yr_revenue"),
            **_all("decimal", "price_min price_max price_open price_public_offering"),
            **_all("texts", "lead_underwriters other_underwriters"),
        },
        symbol=("ticker",),
        empty_is_unknown=True,
        zero_is_unknown=(
            "sic",
            "last_yr_income_year",
            "last_yr_revenue_year",
            "offering_shares",
            "offering_value",
            "market_cap_at_offer",
            "shares_outstanding",
            "ord_shares_out_after_offer",
        ),
        zero_is_unknown_without={
            "last_yr_income": "last_yr_income_year",
            "last_yr_revenue": "last_yr_revenue_year",
        },
    ),
}

DEAL_STATUS = "ipos.deal-status"
RATING_CHANGES = "insights.rating-changes"


def topics():
    """Topic -> (number of partitions, full name of its value's type)."""
    all_topics = {
        DEAL_STATUS: (3, "marketdata.ipos.DealStatusChanged"),
        RATING_CHANGES: (3, "marketdata.insights.RatingChanged"),
    }
    for feed, rules in FEEDS.items():
        all_topics[feed] = (3, f"marketdata.{feed}.Envelope")
        all_topics[f"{feed}.current"] = (3, rules.record_type)
        all_topics[f"{feed}.source-offset"] = (1, "highwater.SourceOffset")
        all_topics[f"{feed}.dead-letters"] = (1, "highwater.DeadLetter")
    return all_topics


def avro_name(vendor_name):
    """Avro's names begin with a letter or an underscore."""
    return f"_{vendor_name}" if vendor_name[0].isdigit() else vendor_name
