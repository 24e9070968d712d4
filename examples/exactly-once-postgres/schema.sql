-- Programs that start at the same moment make the tables one after the other.
SELECT pg_advisory_xact_lock(hashtext('exactly-once-postgres'));

-- No unique index on event_id on purpose: the positions alone keep doubles out.
CREATE TABLE IF NOT EXISTS deal_status_changes (
  written         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- rises with each row: for an IPO, the order of its events
  event_id        text NOT NULL,   -- ipos:3f2a91c0:802:deal_status
  ipo             text NOT NULL,
  name            text,
  ticker          text,
  previous_status text,
  status          text,
  updated         bigint NOT NULL  -- the vendor's time, Unix seconds
);

CREATE TABLE IF NOT EXISTS positions (
  topic     text NOT NULL,
  partition integer NOT NULL,
  topic_id  text,   -- null on the embedded log
  next      bigint, -- offset of the next event; null: nothing is done
  PRIMARY KEY (topic, partition)
);
