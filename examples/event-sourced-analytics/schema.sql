-- Every event whole, in the order of its partition. No unique index on id on purpose: the positions alone keep doubles out.
CREATE TABLE IF NOT EXISTS events (
  id      TEXT NOT NULL,    -- ipos:3f2a91c0:802
  type    TEXT NOT NULL,    -- marketdata.ipos.Envelope
  key     TEXT NOT NULL,
  updated INTEGER NOT NULL, -- the vendor's time, Unix seconds
  value   TEXT NOT NULL     -- JSON
) STRICT;
CREATE INDEX IF NOT EXISTS events_by_type ON events (type, key, updated);
CREATE INDEX IF NOT EXISTS events_by_id ON events (id);

CREATE VIEW IF NOT EXISTS ipo_moves AS
SELECT key AS ipo, updated, value ->> 'caused_by' AS caused_by,
       value ->> 'previous_status' AS previous_status, value ->> 'status' AS status
FROM events WHERE type = 'marketdata.ipos.DealStatusChanged';

-- What was known of an analyst, and from when to when.
CREATE VIEW IF NOT EXISTS analyst_versions AS
SELECT key AS analyst, updated AS since,
       lead(updated, 1, 1e12) OVER (PARTITION BY key ORDER BY updated) AS until,
       value ->> '$.after.name_full' AS name, value ->> '$.after.firm_name' AS firm,
       CAST(value ->> '$.after.ratings_accuracy.overall_success_rate' AS REAL) AS success_rate,
       CAST(value ->> '$.after.ratings_accuracy.smart_score' AS REAL) AS smart_score
FROM events WHERE type = 'marketdata.analysts.Envelope';

CREATE VIEW IF NOT EXISTS calls AS
SELECT value ->> 'analyst_id' AS analyst, updated, value ->> 'symbol' AS symbol, value ->> 'action' AS action
FROM events WHERE type = 'marketdata.insights.RatingChanged' AND NOT value ->> 'correction';
