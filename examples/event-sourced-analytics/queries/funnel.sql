-- How far the IPOs came that were seen from the first: each stage that they ever reached.
WITH newcomers AS (
  SELECT key AS ipo FROM events WHERE type = 'marketdata.ipos.Envelope' AND value ->> 'op' = 'c'
),
reached AS (
  SELECT DISTINCT ipo, status FROM ipo_moves JOIN newcomers USING (ipo)
)
SELECT 'New' AS stage, count(*) AS ipos FROM newcomers
UNION ALL
SELECT status, count(*) FROM reached
WHERE status IN ('Amended', 'Priced', 'Closed', 'Postponed', 'Withdrawn') GROUP BY status;
