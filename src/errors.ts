/**
 * Every error that a person may meet, in one table. `docs/errors` has a page per code, and a test holds the two
 * together. A message has three parts: what happened (with the values), what the program does now, what to do.
 */
export interface ErrorKind {
  /** Exit code of a command that ends by it. */
  readonly exit: 1 | 2 | 3;
  /** Worth another try without a person doing anything. */
  readonly retriable: boolean;
  /** The feed is parked: retried slowly, because only a person can mend it. */
  readonly parks: boolean;
  /** What the program does now, unless the place that throws knows better. */
  readonly now: string;
  /** What to do. */
  readonly remedy: string;
}

export const errorKinds = {
  LOG_OWNED: {
    exit: 1,
    retriable: true,
    parks: false,
    now: 'Nothing was started.',
    remedy: 'Stop the other publisher, or give this one a folder of its own (HIGHWATER_DATA_DIR).',
  },
  LOG_FENCED: {
    exit: 1,
    retriable: true,
    parks: false,
    now: 'This publisher lets go of the feed and writes nothing more.',
    remedy:
      'Nothing, when another publisher took over on purpose; else look for a second one on the same log.',
  },
  UNEXPECTED: {
    exit: 1,
    retriable: true,
    parks: false,
    now: 'Nothing of it was committed; the feed is tried again.',
    remedy: 'This is a bug: please report it with the lines above.',
  },
  SCAN_BEYOND_REACH: {
    exit: 1,
    retriable: false,
    parks: true,
    now: 'The feed is parked: it is tried again slowly, and what it showed so far is published. It does not claim to be complete.',
    remedy: 'Narrow the feed by filters in highwater.yaml (dates, tickers), or split it into several feeds.',
  },
  SCAN_PAGING_IGNORED: {
    exit: 1,
    retriable: false,
    parks: true,
    now: 'The feed is parked: it is tried again slowly, and what it showed so far is published.',
    remedy: 'Check the names of the paging parameters in highwater.yaml, or ask for larger pages.',
  },
  STATE_DAMAGED: {
    exit: 1,
    retriable: false,
    parks: true,
    now: 'The feed is not polled: publishing from a damaged state would repeat or lose changes.',
    remedy:
      'Restore the log from a backup, or begin anew: another data folder, or on Kafka delete the topics .current and .source-offset of the feed, and start again. All records then come again as reads (op r).',
  },
  LOG_UNWRITABLE: {
    exit: 2,
    retriable: false,
    parks: true,
    now: 'Nothing was written.',
    remedy: 'Make the folder writable for this user, or name another one (HIGHWATER_DATA_DIR).',
  },
  LOG_FULL: {
    exit: 1,
    retriable: false,
    parks: true,
    now: 'Nothing of the batch was written; the source offset did not move and the batch is tried again.',
    remedy:
      'Free space on the disk, or move the data folder to a larger one (HIGHWATER_DATA_DIR). Then `highwater resume` tries the feed at once.',
  },
  LOG_BUSY: {
    exit: 1,
    retriable: true,
    parks: false,
    now: 'Nothing of the batch was written; it is tried again.',
    remedy: 'Close the program that holds a transaction open on highwater.db, such as an SQLite shell.',
  },
  LOG_CORRUPT: {
    exit: 1,
    retriable: false,
    parks: true,
    now: 'Nothing was written.',
    remedy:
      'Keep a copy of the folder. Then restore a backup, or start with an empty folder (HIGHWATER_DATA_DIR): all records come again as reads (op r).',
  },
  LOG_NEWER: {
    exit: 1,
    retriable: false,
    parks: true,
    now: 'The file was left as it is.',
    remedy: 'Use the highwater version that wrote it or a later one, or another folder (HIGHWATER_DATA_DIR).',
  },
  LOG_TOPIC_MISMATCH: {
    exit: 2,
    retriable: false,
    parks: true,
    now: 'The feed was not started and the topic was left as it is.',
    remedy: 'Give the feed a topic name of its own in highwater.yaml.',
  },
  LOG_FAILED: {
    exit: 1,
    retriable: true,
    parks: false,
    now: 'Nothing of the batch was written; it is tried again.',
    remedy: 'Nothing, when it passes. Else check the disk and the data folder (HIGHWATER_DATA_DIR).',
  },
  COMMAND_REFUSED: {
    exit: 1,
    retriable: false,
    parks: false,
    now: 'Nothing was done; the feed goes on as before.',
    remedy: 'See why it was refused, and ask again.',
  },
  COMMAND_INTERRUPTED: {
    exit: 1,
    retriable: false,
    parks: false,
    now: 'What it published so far is committed; nothing is half-done.',
    remedy: 'Ask again: a backfill goes on where it was, anything else begins anew.',
  },
  COMMAND_NOT_ACCEPTED: {
    exit: 1,
    retriable: true,
    parks: false,
    now: 'The request is withdrawn: whoever wakes up later leaves it alone.',
    remedy:
      'Look whether the publisher hangs, whether it has the feed (HIGHWATER_FEEDS), and whether its log names an error by which it cannot take the feed over: mend that, and start it again. Then ask again.',
  },
  COMMAND_UNANSWERED: {
    exit: 1,
    retriable: false,
    parks: false,
    now: 'Nobody waits for the answer any more. Whether the command was carried out is not known.',
    remedy:
      'See whether the publisher still runs, and how its feed stands (`highwater tail <feed>.source-offset`). Then ask again.',
  },
  VALUE_FOREIGN: {
    exit: 1,
    retriable: false,
    parks: false,
    now: 'Nothing more of the topic is shown.',
    remedy: 'Read the topic by a tool that knows its format: it was written by another program.',
  },
  LOG_CLOSED: {
    exit: 1,
    retriable: false,
    parks: false,
    now: 'Nothing was written.',
    remedy: 'Nothing: the program is ending.',
  },
  SCHEMA_INCOMPATIBLE: {
    exit: 1,
    retriable: false,
    parks: true,
    now: 'Nothing was published with it.',
    remedy:
      'Of a feed of your own: make the new field nullable with a default, or give it a new name. Else go back to the version before, or give these topics a prefix of their own (HIGHWATER_TOPIC_PREFIX).',
  },
  SCHEMA_UNKNOWN: {
    exit: 1,
    retriable: false,
    parks: false,
    now: 'The record cannot be decoded.',
    remedy: 'Point to the registry or data folder that the record was written with.',
  },
  LOG_OUTCOME_UNKNOWN: {
    exit: 1,
    retriable: true,
    parks: false,
    now: 'Nothing more is written under this ownership; the feed is acquired again, and what was committed is read back first.',
    remedy:
      'Nothing, when it passes. Else look at the brokers: their answer to a commit was lost and they cannot be asked.',
  },
  LOG_TOPIC_LOST: {
    exit: 1,
    retriable: true,
    parks: false,
    now: 'Nothing of the batch was written. The feed is acquired again: topics that are missing are created, and the state is read back and compared with the source offset.',
    remedy:
      'Nothing, when the feed goes on. Else (STATE_DAMAGED follows) find out who deleted the topic, or why brokers lost what they had confirmed.',
  },
  LOG_RESTORE_STALLED: {
    exit: 1,
    retriable: true,
    parks: false,
    now: 'The feed is not polled before its state is read back; that is tried again.',
    remedy:
      'Look for a transaction that stays open on the partition (kafka-transactions.sh find-hanging): nobody but highwater may write to this topic.',
  },
  LOG_UNREADABLE: {
    exit: 1,
    retriable: false,
    parks: true,
    now: 'Nothing behind it is read, and nothing was written.',
    remedy:
      'Look whether another reader gets behind it (kafka-console-consumer.sh), and how the broker keeps it (kafka-dump-log.sh). Where they fail as well, restore the topic.',
  },
  KAFKA_UNREACHABLE: {
    exit: 1,
    retriable: true,
    parks: false,
    now: 'Nothing of the batch was written; it is tried again.',
    remedy:
      'Check the addresses (KAFKA_BROKERS), the network, whether the brokers run, and whether they expect TLS (KAFKA_SSL) or a login (KAFKA_SASL_USERNAME).',
  },
  KAFKA_CERTIFICATE: {
    exit: 1,
    retriable: false,
    parks: true,
    now: 'Nothing is published: nothing is sent to a broker that cannot prove who it is. It is tried again slowly.',
    remedy: 'Check the certificate of the brokers and the authority to trust (KAFKA_SSL_CA_FILE).',
  },
  KAFKA_UNAUTHENTICATED: {
    exit: 1,
    retriable: false,
    parks: true,
    now: 'Nothing is published; it is tried again slowly.',
    remedy:
      'Check user, password and mechanism (KAFKA_SASL_USERNAME, KAFKA_SASL_PASSWORD, KAFKA_SASL_MECHANISM).',
  },
  KAFKA_FORBIDDEN: {
    exit: 1,
    retriable: false,
    parks: true,
    now: 'Nothing of the feed is published; it is tried again slowly.',
    remedy: 'Allow the user the operation named above (kafka-acls.sh --add).',
  },
  REGISTRY_UNREACHABLE: {
    exit: 1,
    retriable: true,
    parks: false,
    now: 'Nothing is published without a known schema id; the registry is asked again.',
    remedy: 'Check the address (SCHEMA_REGISTRY_URL), the network, and whether the registry runs.',
  },
  REGISTRY_UNAUTHORIZED: {
    exit: 1,
    retriable: false,
    parks: true,
    now: 'Nothing of the feed is published; the registry is asked again slowly.',
    remedy:
      'Check user and password (SCHEMA_REGISTRY_USERNAME, SCHEMA_REGISTRY_PASSWORD) and what the user may do.',
  },
  REGISTRY_REFUSED: {
    exit: 1,
    retriable: false,
    parks: true,
    now: 'Nothing of the feed is published; the registry is asked again slowly.',
    remedy:
      "Act on the registry's message; check that SCHEMA_REGISTRY_URL is the base of a Confluent-compatible API.",
  },
  SCHEMA_UNREGISTERED: {
    exit: 1,
    retriable: false,
    parks: true,
    now: 'Nothing of the feed is published; the registry is asked again slowly.',
    remedy:
      'Register the schemas (`highwater schemas register`), or let the publisher do it (HIGHWATER_SCHEMA_REGISTRATION=register).',
  },
  SCHEMA_UNRECORDED: {
    exit: 1,
    retriable: false,
    parks: false,
    now: 'Nothing was changed.',
    remedy:
      'Keep what is printed as the next version (`highwater schemas print --subject NAME > HISTORY/NAME/2.avsc`), with a line in the changelog beside it.',
  },
  SOURCE_UNREACHABLE: {
    exit: 1,
    retriable: true,
    parks: false,
    now: 'The page was not read and the source offset did not move; the next poll asks again.',
    remedy: 'Check the address (HIGHWATER_API_URL), the network, and any proxy in between.',
  },
  SOURCE_TIMEOUT: {
    exit: 1,
    retriable: true,
    parks: false,
    now: 'The page was not read and the source offset did not move; the next poll asks again.',
    remedy:
      'Nothing, when it passes. Else allow more time (HIGHWATER_REQUEST_TIMEOUT, HIGHWATER_IDLE_TIMEOUT) or ask for smaller pages (pageSize of the feed).',
  },
  SOURCE_UNAVAILABLE: {
    exit: 1,
    retriable: true,
    parks: false,
    now: 'The page was not read and the source offset did not move; the next poll asks again.',
    remedy: 'Nothing, when it passes. Else ask the vendor: the fault is on their side.',
  },
  SOURCE_RATE_LIMITED: {
    exit: 1,
    retriable: true,
    parks: false,
    now: 'All feeds of the token wait as long as the API asks, then go on.',
    remedy:
      'Nothing, when it passes. Else send fewer requests (HIGHWATER_REQUESTS_PER_SECOND, HIGHWATER_POLL_INTERVAL) or look for another user of the token.',
  },
  SOURCE_UNAUTHORIZED: {
    exit: 1,
    retriable: false,
    parks: true,
    now: 'The feed is parked: it is tried again now and then, slowly. Other feeds go on.',
    remedy: 'Set a valid token (HIGHWATER_API_TOKEN or HIGHWATER_API_TOKEN_FILE) and start again.',
  },
  SOURCE_FORBIDDEN: {
    exit: 1,
    retriable: false,
    parks: true,
    now: 'The feed is parked: it is tried again now and then, slowly. Other feeds go on.',
    remedy:
      "Ask the vendor whether the token's plan has this endpoint, or leave the feed out (HIGHWATER_FEEDS).",
  },
  SOURCE_NOT_FOUND: {
    exit: 1,
    retriable: true,
    parks: false,
    now: 'The page was not read and the source offset did not move; the next poll asks again.',
    remedy: "Check the address (HIGHWATER_API_URL) and the feed's path in highwater.yaml.",
  },
  SOURCE_REDIRECTED: {
    exit: 1,
    retriable: false,
    parks: false,
    now: 'The redirect was not followed, because it would carry the token elsewhere. The source offset did not move.',
    remedy: 'If the new address is right, set it (HIGHWATER_API_URL, or the path of the feed).',
  },
  SOURCE_REQUEST_REFUSED: {
    exit: 1,
    retriable: false,
    parks: false,
    now: 'The page was not read and the source offset did not move; the next poll asks again.',
    remedy: "Check the feed's parameters, query and pageSize in highwater.yaml against the vendor's message.",
  },
  SOURCE_REPORTED_ERROR: {
    exit: 1,
    retriable: true,
    parks: false,
    now: 'The page was not read and the source offset did not move; the next poll asks again.',
    remedy: "Nothing, when it passes. Else act on the vendor's message, or show it to the vendor.",
  },
  SOURCE_UNEXPECTED_STATUS: {
    exit: 1,
    retriable: true,
    parks: false,
    now: 'The page was not read and the source offset did not move; the next poll asks again.',
    remedy:
      'Check that HIGHWATER_API_URL is the API itself; a proxy or a login page may answer in its place.',
  },
  SOURCE_WRONG_SHAPE: {
    exit: 1,
    retriable: true,
    parks: false,
    now: 'The answer was not taken for an empty page and the source offset did not move; the next poll asks again.',
    remedy: "Check the feed's path and responseKey in highwater.yaml.",
  },
  SOURCE_NOT_JSON: {
    exit: 1,
    retriable: true,
    parks: false,
    now: 'The page was not read and the source offset did not move; the next poll asks again.',
    remedy:
      'Check that HIGHWATER_API_URL is the API itself; a proxy or a login page may answer in its place.',
  },
  SOURCE_BODY_TRUNCATED: {
    exit: 1,
    retriable: true,
    parks: false,
    now: 'Nothing of the cut answer was used and the source offset did not move; the next poll asks again.',
    remedy:
      'Nothing, when it passes. Else look for a proxy that cuts answers, or ask for smaller pages (pageSize of the feed).',
  },
  SOURCE_BODY_EMPTY: {
    exit: 1,
    retriable: true,
    parks: false,
    now: 'The answer was not taken for an empty page and the source offset did not move; the next poll asks again.',
    remedy: 'Nothing, when it passes. Else ask the vendor, or look at the proxy in between.',
  },
  SOURCE_BODY_TOO_LARGE: {
    exit: 1,
    retriable: false,
    parks: false,
    now: 'The page is asked for again with fewer records.',
    remedy: 'Nothing, when it passes. Else raise HIGHWATER_BODY_LIMIT or lower the pageSize of the feed.',
  },
  SOURCE_CLOSED: {
    exit: 1,
    retriable: false,
    parks: false,
    now: 'No request was sent.',
    remedy: 'Nothing: the program is ending.',
  },
  USAGE_INVALID: {
    exit: 2,
    retriable: false,
    parks: false,
    now: 'Nothing was started.',
    remedy: 'See `highwater --help`.',
  },
  TOPIC_UNKNOWN: {
    exit: 2,
    retriable: false,
    parks: false,
    now: 'Nothing was read.',
    remedy: 'Name one of the topics above, or follow the topic (without --no-follow) to wait for it.',
  },
  LOG_MISSING: {
    exit: 1,
    retriable: false,
    parks: false,
    now: 'Nothing was read.',
    remedy:
      'Name the folder that a publisher writes to (--data-dir or HIGHWATER_DATA_DIR), or start one (`highwater run`).',
  },
  LOG_POSITION_LOST: {
    exit: 1,
    retriable: false,
    parks: false,
    now: 'The consumer stops: to go on would leave out what it never saw.',
    remedy:
      'Take the table (`<feed>.current`) for what is gone, then begin with a new group, or set the old one to a place that is kept (kafka-consumer-groups.sh --reset-offsets).',
  },
  GROUP_LOST: {
    exit: 1,
    retriable: true,
    parks: false,
    now: 'This member commits nothing more there; the one that has the partition now begins where the group stood.',
    remedy:
      'Nothing, when it is seldom. Else a handler takes longer than the session timeout: do less in one, or allow more.',
  },
  CONSUMER_HANDLER_FAILED: {
    exit: 1,
    retriable: false,
    parks: false,
    now: 'The consumer stops, and its group stands before this event: nothing is left out.',
    remedy:
      "Mend what the handler could not do, and start the consumer again; or let it go on without such events (onFailure: 'dead-letter').",
  },
  PORT_UNAVAILABLE: {
    exit: 1,
    retriable: false,
    parks: false,
    now: 'Nothing was started.',
    remedy: 'Choose another port (--port; of `run` HIGHWATER_HTTP_PORT); 0 is any free one.',
  },
  CONFIG_INVALID: {
    exit: 2,
    retriable: false,
    parks: false,
    now: 'Nothing was started.',
    remedy: 'Correct the settings named above; `highwater run --help` lists all of them.',
  },
} as const satisfies Record<string, ErrorKind>;

export type ErrorCode = keyof typeof errorKinds;

export class HighwaterError extends Error {
  readonly code: ErrorCode;
  readonly now: string;
  readonly remedy: string;

  /** @param what what happened, with the values; never a secret */
  constructor(
    code: ErrorCode,
    what: string,
    details: { now?: string; remedy?: string; cause?: unknown } = {},
  ) {
    super(what, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'HighwaterError';
    this.code = code;
    this.now = details.now ?? errorKinds[code].now;
    this.remedy = details.remedy ?? errorKinds[code].remedy;
  }

  get kind(): ErrorKind {
    return errorKinds[this.code];
  }
}
