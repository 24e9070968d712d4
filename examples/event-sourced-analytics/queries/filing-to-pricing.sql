-- Days from the first filing to the first pricing, of IPOs that were seen from the first. The dates are those of the record as it
-- stood at that moment: later events (a postponement clears pricing_date) do not reach back.
WITH pricings AS (
  SELECT key, min_by(after, seq) AS record
  FROM 'ipos.parquet'
  WHERE op = 'u' AND after.deal_status = 'Priced' AND before.deal_status IS DISTINCT FROM 'Priced'
    AND key IN (SELECT key FROM 'ipos.parquet' WHERE op = 'c')
  GROUP BY key
),
waits AS (
  SELECT date_diff('day', TRY_CAST(record.initial_filing_date AS DATE), TRY_CAST(record.pricing_date AS DATE)) AS days
  FROM pricings
)
SELECT 28 * (days // 28) AS from_day, count(*) AS ipos,
       bar(count(*), 0, max(count(*)) OVER (), 40) AS chart
FROM waits WHERE days IS NOT NULL GROUP BY from_day ORDER BY from_day;
