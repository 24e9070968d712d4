-- The table as of a date: where the IPOs stood then, by the vendor's time. `highwater export ipos --as-of DATE` gives such a table
-- by the time of observation.
WITH latest AS (
  SELECT after FROM 'ipos.parquet'
  WHERE source.updated < epoch(TIMESTAMP '2025-07-01')
  QUALIFY row_number() OVER (PARTITION BY key ORDER BY seq DESC) = 1
)
SELECT after.deal_status AS status, count(*) AS ipos, bar(count(*), 0, max(count(*)) OVER (), 40) AS chart
FROM latest WHERE after IS NOT NULL
GROUP BY status ORDER BY ipos DESC, status;
