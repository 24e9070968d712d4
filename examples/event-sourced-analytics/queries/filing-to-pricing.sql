-- Days from the first filing to the first pricing, for each IPO whose filing was seen. The dates are those of the record as it
-- stood at that moment: later events (a postponement clears pricing_date) do not reach back.
WITH pricings AS (
  SELECT moved.ipo, change.value -> 'after' AS record,
         row_number() OVER (PARTITION BY moved.ipo ORDER BY moved.updated) AS nth
  FROM ipo_moves AS moved JOIN events AS change ON change.id = moved.caused_by
  WHERE moved.status = 'Priced'
    AND EXISTS (SELECT 1 FROM events WHERE type = 'marketdata.ipos.Envelope' AND key = moved.ipo AND value ->> 'op' = 'c')
),
waits AS (
  SELECT record ->> 'name' AS name,
         CAST(julianday(record ->> 'pricing_date') - julianday(record ->> 'initial_filing_date') AS INTEGER) AS days
  FROM pricings WHERE nth = 1
),
ranked AS (
  SELECT *, row_number() OVER (ORDER BY days) AS place, count(*) OVER () AS total FROM waits WHERE days IS NOT NULL
)
SELECT name, days,
       (SELECT avg(days) FROM ranked WHERE place IN ((total + 1) / 2, (total + 2) / 2)) AS median,
       (SELECT days FROM ranked WHERE place = (9 * total + 9) / 10) AS ninth_decile
FROM ranked ORDER BY days;
