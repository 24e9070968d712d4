-- Where every IPO that was on its way stood, at 53 moments of what was seen: the state at a moment is the last event before it.
WITH RECURSIVE
states AS (
  SELECT key AS ipo, value ->> '$.after.deal_status' AS status, updated AS since,
         lead(updated, 1, 1e12) OVER (PARTITION BY key ORDER BY updated, rowid) AS until
  FROM events WHERE type = 'marketdata.ipos.Envelope'
),
bounds AS (
  SELECT min(updated) AS first, max(updated) AS last, (max(updated) - min(updated)) / 52 + 1 AS step FROM ipo_moves
),
moments (at) AS (
  SELECT first FROM bounds UNION ALL SELECT min(at + step, last) FROM moments, bounds WHERE at < last
)
SELECT at * 1000 AS at, status, count(*) AS ipos
FROM moments JOIN states ON since <= at AND at < until
WHERE status IN ('Rumored', 'Initial Filing', 'Amended', 'Postponed')
GROUP BY at, status ORDER BY at, status;
