-- How far the IPOs came whose filing was seen: each stage that they ever reached.
WITH filed AS (
  SELECT key AS ipo FROM events WHERE type = 'marketdata.ipos.Envelope' AND value ->> 'op' = 'c'
),
reached AS (
  SELECT DISTINCT ipo, status FROM ipo_moves JOIN filed USING (ipo)
)
SELECT 'Filed' AS stage, count(*) AS ipos FROM filed
UNION ALL
SELECT status, count(*) FROM reached
WHERE status IN ('Amended', 'Priced', 'Closed', 'Postponed', 'Withdrawn') GROUP BY status;
