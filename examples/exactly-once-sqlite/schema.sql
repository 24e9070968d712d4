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
