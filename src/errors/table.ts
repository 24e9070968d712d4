/** Meaning and consequences of a code. `docs/errors.md` is generated from these tables. */
export interface ErrorKind {
  /** Exit code of a command that this error ends. */
  readonly exit: 1 | 2 | 3;
  /** May pass without anybody doing anything: it is tried again. */
  readonly retriable: boolean;
  /** Parks the feed: it is retried slowly, because only a person can fix it. */
  readonly parks: boolean;
  /** The explanation: what happened, and why. The dashboard and `explain` show the first sentence by itself. */
  readonly what: string;
  /** What the program does now. The place that throws may replace it. */
  readonly now: string;
  /** What to do. The place that throws may replace it. */
  readonly remedy: string;
  /** Page below `docs` that helps further. */
  readonly see?: string;
}

type Kinds = Readonly<Record<string, ErrorKind>>;

const passes = { exit: 1, retriable: true, parks: false } as const;
const lasts = { exit: 1, retriable: false, parks: false } as const;
const parks = { exit: 1, retriable: false, parks: true } as const;

const settings = {
  CONFIG_INVALID: {
    ...lasts,
    exit: 2,
    what: 'Settings are missing, mistyped or contradict each other. The message has a line for each mistake, with the place where the setting was made.',
    now: 'Nothing was started.',
    remedy: 'Correct the settings named above. `highwater run --help` lists all settings.',
    see: 'configuration.md',
  },
  USAGE_INVALID: {
    ...lasts,
    exit: 2,
    what: 'The command or option does not exist, or does not take this value.',
    now: 'Nothing was started.',
    remedy: 'See `highwater --help`.',
  },
  TOPIC_UNKNOWN: {
    ...lasts,
    exit: 2,
    what: 'The topic is not in the log. If it belongs to no known feed, the message lists the topics that can be read.',
    now: 'Nothing was read.',
    remedy: 'Name one of the topics above. `tail` without --no-follow waits for a new topic.',
  },
  PORT_UNAVAILABLE: {
    ...lasts,
    what: 'The port is taken, or this user may not open it.',
    now: 'Nothing was started.',
    remedy: 'Choose another port (--port; for `run` HIGHWATER_HTTP_PORT); 0 is any free port.',
  },
} satisfies Kinds;

const NEXT_POLL = 'The page was not read. The source offset did not move, and the next poll asks again.';
const NOT_EMPTY =
  'The answer does not count as an empty page. The source offset did not move, and the next poll asks again.';
const BEGINS_AGAIN =
  'The scan ends there and does not count as complete. The pages read so far are published. The next poll begins again from the stored position.';
const PARKED_SLOWLY = 'The feed is parked: it is tried again slowly. Other feeds go on.';
const NOT_THE_API =
  'Check that HIGHWATER_API_URL is the API itself; a proxy or a login page may answer in its place.';
const apiDown = 'runbook/api-down.md';
const feedParked = 'runbook/feed-parked.md';

const api = {
  SOURCE_UNREACHABLE: {
    ...passes,
    what: 'The API cannot be reached. Its name is unknown, the connection was refused or reset, or a proxy wants a password (407); the message has the reason.',
    now: NEXT_POLL,
    remedy:
      'Check the address (HIGHWATER_API_URL), the network, and the proxy that HTTPS_PROXY, HTTP_PROXY or ALL_PROXY names; NO_PROXY leaves hosts out.',
    see: apiDown,
  },
  SOURCE_CERTIFICATE: {
    ...parks,
    what: 'The certificate of the API or of its token server is not trusted. No trusted authority signed it, it has expired, is not valid yet, or is for another host; the message says which. A proxy that decrypts TLS shows a certificate of its own authority.',
    now: 'The page was not read, because the token must not go to a server that cannot prove its identity. It is asked again slowly.',
    remedy:
      'If you or your proxy signed the certificate, name the file with the certificate of that authority (HIGHWATER_API_CA_FILE). If the certificate has expired or is for another host, check the address (HIGHWATER_API_URL) and the clock, then ask the vendor.',
  },
  SOURCE_TIMEOUT: {
    ...passes,
    what: 'The API does not answer in time. The answer took longer than HIGHWATER_REQUEST_TIMEOUT, or no byte came for HIGHWATER_IDLE_TIMEOUT.',
    now: NEXT_POLL,
    remedy:
      'Nothing, if it passes. Otherwise allow more time (HIGHWATER_REQUEST_TIMEOUT, HIGHWATER_IDLE_TIMEOUT) or ask for smaller pages (pageSize of the feed).',
    see: apiDown,
  },
  SOURCE_UNAVAILABLE: {
    ...passes,
    what: 'The API is out of order. It answered with a status of 500 or above, 408, 424, 425 or 499.',
    now: NEXT_POLL,
    remedy: 'Nothing, if it passes. Otherwise ask the vendor: the fault is on their side.',
    see: apiDown,
  },
  SOURCE_RATE_LIMITED: {
    ...passes,
    what: 'The API allows no more requests for now. It answered 429, 403 with a rate limit that is used up, or with an error of GraphQL that says so; or it asked for a pause that is longer than a page may take.',
    now: 'All feeds of the token wait as long as the API asks, then go on.',
    remedy:
      'Nothing, if it passes. Otherwise send fewer requests (HIGHWATER_REQUESTS_PER_SECOND, HIGHWATER_POLL_INTERVAL), wait longer (HIGHWATER_RETRY_TIME), or look for another user of the token.',
    see: 'runbook/api-429.md',
  },
  SOURCE_UNAUTHORIZED: {
    ...parks,
    what: 'The API refused the token. It answered 401, or with an error that says so: the token is missing, mistyped, expired or withdrawn. A token from a file or a command was read again first, and was refused too.',
    now: PARKED_SLOWLY,
    remedy:
      'Give the file or command that the message names a valid token: the feed then goes on by itself. For a variable (HIGHWATER_API_TOKEN, tokenEnv), set it and restart. With oauth2, check clientId, scope and audience; with scheme none, set auth of the feed.',
    see: 'runbook/token-rotated.md',
  },
  SOURCE_TOKEN_REFUSED: {
    ...parks,
    what: 'The token server refused the client. It answered with an error of OAuth2, such as invalid_client or invalid_scope. A secret from a file or a command was read again first, and was refused too.',
    now: PARKED_SLOWLY,
    remedy:
      'Check clientId, clientAuth, scope and audience in auth of the feed, and the client secret. Once a valid one is in clientSecretFile, the feed goes on by itself. For a secret in a variable (clientSecretEnv), set the variable and restart.',
    see: 'runbook/token-rotated.md',
  },
  SOURCE_TOKEN_UNAVAILABLE: {
    ...passes,
    what: 'There is no token for now. The token server cannot be reached, answered with an error or a redirect, or its answer holds no token that can be used; or the command of the token has given none since the start. The message says which.',
    now: NEXT_POLL,
    remedy:
      'Nothing, if it passes. Otherwise check the command that the message names, or the address (tokenUrl in auth of the feed), the network, and any proxy in between.',
    see: apiDown,
  },
  SOURCE_FORBIDDEN: {
    ...parks,
    what: 'The API does not let this token read the feed. It answered 403, 402 or with an error of GraphQL that says so: it knows the token, but the plan of the token does not include this endpoint.',
    now: PARKED_SLOWLY,
    remedy:
      "Ask the vendor whether the token's plan includes this endpoint, or leave the feed out (HIGHWATER_FEEDS).",
    see: feedParked,
  },
  SOURCE_NOT_FOUND: {
    ...passes,
    what: 'The API does not have this address. The 404 is not the API\'s way to say "no records": the path is wrong, or a gateway in front of the API does not know it.',
    now: NEXT_POLL,
    remedy: "Check the address (HIGHWATER_API_URL) and the feed's path in highwater.yaml.",
    see: apiDown,
  },
  SOURCE_REDIRECTED: {
    ...lasts,
    what: 'The API redirects to another address. The request carries the token, so following the redirect would give the token to that address.',
    now: 'The redirect was not followed. The source offset did not move.',
    remedy:
      'If the new address is right, set it (HIGHWATER_API_URL, or the path of the feed). If it is the one that was asked, the API may want a cookie or another header (headers of the feed).',
    see: apiDown,
  },
  SOURCE_LINK_ELSEWHERE: {
    ...lasts,
    what: 'The API points to another host for the next page. The request for that page would carry the token there.',
    now: 'The link was not followed and the source offset did not move; the next poll asks again.',
    remedy:
      'If the other host is right, make it the address of the feed (apiUrl). If a proxy in front of the API does not know its public address, set `followPath: true` in paging of the feed: then only path and query of the link are used.',
    see: apiDown,
  },
  SOURCE_REQUEST_REFUSED: {
    ...lasts,
    what: 'The API refused the request. It answered 400, another status or an error of GraphQL that blames the request, for example for a page size that it does not allow.',
    now: NEXT_POLL,
    remedy:
      "Check the feed's parameters, query and pageSize in highwater.yaml against the vendor's message. If the API refuses a filter that lies too far back, such as that of a reconcile, set beginAt of the feed; if it refuses positions behind so many rows, set pagingLimit.",
    see: apiDown,
  },
  SOURCE_CLOSED: {
    ...lasts,
    what: 'A page was asked for after the client was closed.',
    now: 'No request was sent.',
    remedy: 'Nothing: the program is ending.',
  },
} satisfies Kinds;

const answers = {
  SOURCE_REPORTED_ERROR: {
    ...passes,
    what: 'The API reported an error. The status is a success, but the body says `ok: false` or `success: false`, or is a message, a list of errors or a bare text, or has an error beside an empty list.',
    now: NEXT_POLL,
    remedy: "Nothing, if it passes. Otherwise act on the vendor's message, or show it to the vendor.",
    see: apiDown,
  },
  SOURCE_UNEXPECTED_STATUS: {
    ...passes,
    what: 'The API answered with an unexpected status. A page never has a status such as 206, or 304 unless rows since a moment were asked for.',
    now: NEXT_POLL,
    remedy: NOT_THE_API,
    see: apiDown,
  },
  SOURCE_WRONG_SHAPE: {
    ...passes,
    what: "The API answered in another shape. The body is JSON, but neither an array nor an object with an array under the feed's key. The message names the keys of the answer, and quotes a short one that holds only texts.",
    now: NOT_EMPTY,
    remedy:
      "If the message quotes a limit of requests, lower requestsPerSecond (0.2 is one request in five seconds) or raise pollInterval. Otherwise check the feed's path, responseKey and paging in highwater.yaml.",
    see: apiDown,
  },
  SOURCE_NOT_JSON: {
    ...passes,
    what: 'The API did not answer with JSON. The body is HTML, XML or other text, or in an encoding that was not asked for; the message shows which.',
    now: NEXT_POLL,
    remedy: NOT_THE_API,
    see: apiDown,
  },
  SOURCE_BODY_TRUNCATED: {
    ...passes,
    what: 'An answer of the API ends too early. The body or the connection broke off.',
    now: 'Nothing of the cut answer was used and the source offset did not move; the next poll asks again.',
    remedy:
      'Nothing, if it passes. Otherwise look for a proxy that cuts answers, or ask for smaller pages (pageSize of the feed).',
    see: apiDown,
  },
  SOURCE_BODY_DAMAGED: {
    ...passes,
    what: 'An answer of the API is damaged. The body begins and ends like a list or an object, but is not JSON in between. The message shows the place. No row is used, because nobody can tell which rows are whole. A row with a value such as `NaN` is another case: it alone becomes a dead letter.',
    now: 'Nothing of the answer was used and the source offset did not move; the next poll asks again.',
    remedy: 'Nothing, if it passes. Otherwise show the answer to the vendor: it is not JSON.',
    see: apiDown,
  },
  SOURCE_CHARSET: {
    ...passes,
    what: 'The text of an answer cannot be read. Its bytes are not in the charset that its `Content-Type` names (UTF-8 if it names none), or this program does not know that charset. No row is used, because letters of it would be lost.',
    now: 'Nothing of the answer was used and the source offset did not move; the next poll asks again.',
    remedy:
      'Nothing, if it passes. Otherwise show the answer to the vendor: JSON is UTF-8, or its `Content-Type` says what it is (`application/json; charset=iso-8859-1`).',
    see: apiDown,
  },
  SOURCE_BODY_EMPTY: {
    ...passes,
    what: 'An answer of the API is empty. The status is a success, but there is no body; an empty page looks different.',
    now: NOT_EMPTY,
    remedy: 'Nothing, if it passes. Otherwise ask the vendor, or look at the proxy in between.',
    see: apiDown,
  },
  SOURCE_BODY_TOO_LARGE: {
    ...lasts,
    what: 'An answer of the API is too large. The decompressed body is larger than HIGHWATER_BODY_LIMIT, or its rows hold too many lists and objects: more than 1,000,000, and more than one for every 32 bytes of HIGHWATER_BODY_LIMIT.',
    now: 'The page is asked for again with fewer records.',
    remedy: 'Nothing, if it passes. Otherwise raise HIGHWATER_BODY_LIMIT or lower the pageSize of the feed.',
    see: apiDown,
  },
  SOURCE_TOO_MANY_ROWS: {
    ...lasts,
    what: 'An answer of the API has too many rows. The limit is one row for every 256 bytes of HIGHWATER_BODY_LIMIT, and at least 100,000. It protects memory: rows of a few bytes take many times their length there.',
    now: NEXT_POLL,
    remedy:
      'Check the names of the paging parameters in highwater.yaml: the server seems to ignore them. Otherwise narrow the feed by filters (dates, tickers), or raise HIGHWATER_BODY_LIMIT, which also raises this limit.',
    see: apiDown,
  },
  SCAN_BEYOND_REACH: {
    ...parks,
    what: 'There are more records than the paging of the API reaches. They share one second, or the answers of the feed have no order. Some of them cannot be read.',
    now: 'The feed is parked and tried again slowly. The records read so far are published, but the scan does not count as complete.',
    remedy:
      'If the feed is declared without paging, raise its pageSize, or declare how its pages are asked for. Otherwise narrow it by filters in highwater.yaml (dates, tickers), or split it into several feeds.',
    see: feedParked,
  },
  SNAPSHOT_UNREADABLE: {
    ...parks,
    what: 'The API answered with rows, but none of them is a record. Every row of the snapshot has become a dead letter. The message quotes a value of the first row and says what was expected. Most often `idField`, `updatedField` or `updatedFormat` of the feed does not fit the rows of the API.',
    now: 'The rows are kept as dead letters. The snapshot is not complete and begins again from the start, slowly.',
    remedy:
      'Correct idField, updatedField and updatedFormat of the feed in highwater.yaml, and its schema, or narrow path and responseKey to the records. If the new schema is refused, give the feed another name.',
    see: feedParked,
  },
  POLL_UNREADABLE: {
    ...passes,
    what: 'The API answered with rows, but none of them is a record any more. Most often the API has renamed the member of `idField` or `updatedField`, or changed the form of its times. The message quotes the first row.',
    now: 'The rows are kept as dead letters, and the high-water mark stands still. The feed is tried again after growing pauses: once the rows are records again, all of them are published.',
    remedy:
      'If the API has changed for good, name the new member in updatedField (or idField) of the feed, and in `vendorName` of its field in the schema, and correct updatedFormat. Otherwise tell the vendor.',
    see: 'runbook/dead-letters.md',
  },
  POLL_NOT_COUNTED: {
    ...passes,
    what: 'A poll or backfill came to its end, but the feed does not count as read. Its answers may lack rows, or a cache has kept them. The message says which.',
    now: 'The rows that came are published, and nothing is deleted. The first poll that counts ends this.',
    remedy:
      'Ask the API as the feed does, and look at what the message names: the rights of the token, a cache, a limit of paging.',
    see: 'runbook/feed-behind.md',
  },
  INIT_NO_RECORD: {
    ...lasts,
    what: 'The feed that `init` found does not publish. Its trial poll, to a log that is thrown away, got no record.',
    now: 'Nothing was written.',
    remedy:
      'Look up in the documentation of the API what the message names, and write the feed by hand (docs/adding-a-feed.md). If `init` guessed a member or a filter wrong, name the right one by its flags.',
    see: 'adding-a-feed.md#another-api',
  },
  INIT_PAGING_UNKNOWN: {
    ...lasts,
    what: 'The endpoint has more rows than one answer, and `init` found no way to the next page. The message names what says so. A feed without paging would publish the first page for ever.',
    now: 'Nothing was written.',
    remedy:
      'Look up the paging in the documentation of the API. Name its parameters (--size, --page, --cursor), or write the feed by hand with `paging` (`style`, and `from` for a link, `parameter` and `from` for a cursor; docs/adding-a-feed.md). If highwater cannot page so, name an address whose filters leave so few rows that one page holds them all.',
    see: 'adding-a-feed.md#another-api',
  },
  SCAN_PAGING_IGNORED: {
    ...parks,
    what: 'The API ignores the paging, and answers every page number with the same full page. Or it counts pages in another way than the feed declares. So rows cannot be read. Most often a paging parameter is misspelt.',
    now: 'The feed is parked and tried again slowly. The records read so far are published.',
    remedy:
      'Check the names of the paging parameters in highwater.yaml, or ask for larger pages. If the API has no pages, say so: `paging: { style: none }`.',
    see: feedParked,
  },
  SCAN_PAGES_EMPTY: {
    ...parks,
    what: 'The API goes on naming next pages, but they have no records. 1,000 pages in a row were empty, so its pages may never end.',
    now: 'The feed is parked and tried again slowly. The records read so far are published.',
    remedy:
      'Check `paging` of the feed in highwater.yaml. If the first page without rows is the last: by cursor, set `hasMore` to the responseKey, since the list says so; by link, page by number (`style: page`) if the API can. Otherwise ask for larger pages (pageSize), or ask the vendor how to recognise the last page.',
    see: feedParked,
  },
  SCAN_CURSOR_REPEATED: {
    ...passes,
    what: 'The pages of the API go round in a circle. An answer names a page as the next one that was already read, so the pages would never end. Or that page shows other rows at each request.',
    now: BEGINS_AGAIN,
    remedy:
      'Nothing, if it passes. Otherwise check `paging` of the feed in highwater.yaml: if the API does not know the `parameter`, every answer is the first page; if `from` holds 0 on the last page, set `hasMore` to the same member. If it scrolls (each request with one id shows the next rows), page in another way, since rows of a lost answer would be lost. If places are times, ask for pages that are longer than any second (pageSize). If the parameter is right, ask the vendor how to recognise the last page.',
    see: apiDown,
  },
  SCAN_CURSOR_EXPIRED: {
    ...passes,
    what: 'The API refuses the next page that it named itself. The cursor may have expired, or its record may be gone. The message has the answer of the API.',
    now: BEGINS_AGAIN,
    remedy:
      'Nothing, if it passes. Otherwise ask for larger pages (pageSize of the feed), so that the pages are read before the cursor expires, or narrow the feed by filters in highwater.yaml. Check paging.parameter, too.',
    see: apiDown,
  },
} satisfies Kinds;

const scaleOut = 'runbook/scale-out.md';
const stateDamaged = 'runbook/state-damaged.md';
const noPublisher = 'runbook/no-publisher.md';

const feedState = {
  LOG_OWNED: {
    ...passes,
    what: 'A live publisher holds the data folder or the feed. Two publishers would publish every change twice.',
    now: 'Nothing was started.',
    remedy: 'Stop the other publisher, or give this publisher its own folder (HIGHWATER_DATA_DIR).',
    see: scaleOut,
  },
  LOG_FENCED: {
    ...passes,
    what: 'Another publisher took over the feed while this publisher was still working. The machine may have paused for a long time. The log refused everything that this publisher wrote afterwards.',
    now: 'This publisher gives up the feed and writes nothing more.',
    remedy:
      'Nothing, if another publisher took over on purpose; otherwise look for a second publisher on the same log.',
    see: scaleOut,
  },
  STATE_DAMAGED: {
    ...parks,
    what: 'The state of the feed in the log is damaged. Before its first poll, an owner compares the images with the count in the source offset, and they differ. The `.current` topic was deleted (and perhaps created again), got more partitions, or holds records of another program, or older images once more; or the `.source-offset` topic was deleted by itself, or has lost its last records. No creates or deletes are published. If the feed begins again, it has a new incarnation, and consumers drop their records of the old one.',
    now: 'The feed is not polled: publishing from a damaged state would repeat or lose changes.',
    remedy:
      'Restore the log from a backup, or begin again: with another data folder, or on Kafka by deleting the topics .current and .source-offset of the feed and starting again. All records then come as reads (op r).',
    see: stateDamaged,
  },
  STATE_ID_FIELD_CHANGED: {
    ...parks,
    exit: 2,
    what: 'The `idField` of the feed is not the one that its records were published under. With the new one, every record would be published as created under a new key, and its old key would stay in the topics for ever.',
    now: 'The feed is not polled and publishes nothing. Its records keep their keys.',
    remedy:
      'Set idField back, or run `highwater reset FEED`: all records then come as reads (op r) under their new keys, in a new incarnation.',
    see: feedParked,
  },
  STATE_TOO_LARGE: {
    ...parks,
    what: 'The feed has more records than the memory of its state can hold. The limit is about 128 GB of images, or 130,000 images of more than 256 KB each.',
    now: 'Nothing more of the feed is published. The published records stay, and the state is whole.',
    remedy:
      'Divide the feed: define two feeds whose `query` each selects a part of the records. Large members that nobody needs can be left out by the API.',
  },
  STATE_FILE_DAMAGED: {
    ...passes,
    what: 'The file of images gives other bytes than were written, or cannot be read. The disk is damaged, or another program wrote into the file.',
    now: 'Nothing wrong is published. The feed is acquired again, and its state is read back from the log into a new file.',
    remedy: 'If it comes again, check the disk, or name a folder on another disk in HIGHWATER_STATE_DIR.',
  },
  LOG_TOPIC_MISMATCH: {
    ...parks,
    exit: 2,
    what: 'A topic exists with other settings than the feed needs. Two feeds or two uses share its name, or it was created with other settings, or given them since. On Kafka the message names each wrong setting and the command that fixes it.',
    now: 'The feed is not published, and the topic was left as it is.',
    remedy:
      'Run `highwater doctor`: it names the settings that differ, on Kafka with the commands that correct them. If two feeds or two uses share the topic, give the feed a topic name of its own in highwater.yaml.',
    see: 'kafka-topics.md',
  },
} satisfies Kinds;

const backupPage = 'runbook/backup-and-restore.md';
const movingPage = 'moving-to-kafka.md';

const embeddedLog = {
  LOG_MISSING: {
    ...lasts,
    what: 'There is no log in the data folder. Commands that read never create one.',
    now: 'Nothing was read.',
    remedy:
      'Name the folder that a publisher writes to (--data-dir, HIGHWATER_DATA_DIR, or in a program `dataDir`), or start a publisher (`highwater run`).',
    see: noPublisher,
  },
  LOG_UNWRITABLE: {
    ...parks,
    exit: 2,
    what: 'The log cannot be opened or written by this user. The message names the first file in the data folder that is in the way, the number of its owner, and the number of the user that the process runs as.',
    now: 'Nothing was written.',
    remedy: 'Make the folder writable for this user, or name another one (HIGHWATER_DATA_DIR).',
    see: noPublisher,
  },
  LOG_GONE: {
    ...lasts,
    what: 'The log was deleted, moved or replaced while it was open. This concerns the data folder, or `highwater.db`, `highwater.db-wal` or `publisher.lock` in it. A program could still write to its open file, but nobody would find the records. So each commit checks before and after it that the files are the opened files. A commit that was under way is reported as failed.',
    now: 'The command ends and writes nothing more. Its earlier records are in the moved file, and are lost if that file was deleted.',
    remedy:
      'Find out what deleted, moved or replaced the file. Put the folder back, restore a backup, or name the folder where it is now (HIGHWATER_DATA_DIR). Then start again.',
    see: backupPage,
  },
  LOG_FULL: {
    ...parks,
    what: "The disk is full. The disk, or the user's quota on it, has no room left.",
    now: 'Nothing of the batch was written. The source offset did not move, and the batch is tried again.',
    remedy:
      'Free space on the disk, or move the data folder to a larger one (HIGHWATER_DATA_DIR). Then `highwater resume --all` tries its feeds at once.',
    see: 'runbook/disk-full.md',
  },
  LOG_BUSY: {
    ...passes,
    what: 'Another program holds the log locked. It kept the lock for longer than the publisher waits.',
    now: 'Nothing of the batch was written. It is tried again.',
    remedy: 'Close the program that holds a transaction open on highwater.db, such as an SQLite shell.',
  },
  LOG_CORRUPT: {
    ...parks,
    what: "The log is damaged. `highwater.db` is not a whole SQLite database: the disk is damaged, the file was copied while it was written, or it is another file of that name. It may also be empty or missing although `highwater.db-wal` has content or the folder has images of an earlier run, or hold a text that is not UTF-8. Damage is noticed only in pages that are read; `highwater doctor` and `sqlite3 highwater.db 'PRAGMA integrity_check'` look at all pages. If the message names `publisher.lock`, the log itself is whole: delete only that file, while no process uses the folder.",
    now: 'Nothing was written.',
    remedy:
      'Keep a copy of the folder. Then restore a backup, or start with an empty folder (HIGHWATER_DATA_DIR): all records come again as reads (op r).',
    see: stateDamaged,
  },
  LOG_NEWER: {
    ...parks,
    what: 'A later version wrote the log. `highwater.db` has a format that this version does not know.',
    now: 'The file was left as it is.',
    remedy: 'Use the highwater version that wrote it or a later one, or another folder (HIGHWATER_DATA_DIR).',
    see: 'runbook/upgrade.md',
  },
  LOG_UNRESTORED: {
    ...parks,
    what: 'The log is a backup. Somebody put a file that `highwater backup` wrote in the place of `highwater.db`. A publisher that went on from it would use event ids a second time, with other content.',
    now: 'The file was left as it is, and nothing was written.',
    remedy: 'Move the file out of the data folder, and run `highwater restore FILE` with it.',
    see: backupPage,
  },
  RESTORE_UNFINISHED: {
    ...lasts,
    what: 'A restore was interrupted between its last steps. The data folder has no log at this moment, and a log that is begun now would be replaced.',
    now: 'Nothing was written.',
    remedy:
      'Start the publisher, or run `highwater restore` again: both finish the interrupted restore first.',
    see: backupPage,
  },
  BACKUP_EXISTS: {
    ...lasts,
    what: 'The file of the backup exists already. --overwrite replaces only an earlier backup, never another file.',
    now: 'Nothing was written.',
    remedy: 'Name another file, or say --overwrite if the file is an earlier backup.',
    see: backupPage,
  },
  BACKUP_FAILED: {
    ...lasts,
    what: "The backup could not be written. The message has the system's reason, such as a folder that is missing or a disk that is full.",
    now: 'No backup was made. The publisher continues.',
    remedy:
      'Name a file in a folder that this user can write to, on a disk with as much room as the log takes.',
    see: backupPage,
  },
  BACKUP_INVALID: {
    ...lasts,
    what: 'The file is not a whole copy of a log. It is missing, empty or damaged, or another database.',
    now: 'Nothing was restored. The log is as it was.',
    remedy: 'Name a file that `highwater backup` wrote, or another whole copy of a `highwater.db`.',
    see: backupPage,
  },
  BACKUP_ON_KAFKA: {
    ...lasts,
    exit: 2,
    what: 'Topics of Kafka cannot be backed up or restored by this command. Their replicas are the backup; for more than that Kafka has its own tools, such as MirrorMaker or tiered storage.',
    now: 'Nothing was read or written.',
    remedy:
      'Leave out KAFKA_BROKERS to back up an embedded log. After topics were restored by other means, reset each feed.',
    see: backupPage,
  },
  COPY_REFUSED: {
    ...lasts,
    what: 'A topic has records already, or does not take one of the records. `highwater copy` writes only to topics that are empty, because a second copy of an event would be a second event.',
    now: 'Nothing of the feed was copied.',
    remedy: 'Delete the topics of the feed, or use another topic prefix (HIGHWATER_TOPIC_PREFIX).',
    see: movingPage,
  },
  EXPORT_EXISTS: {
    ...lasts,
    what: 'The file of the export exists already. --force replaces a file, but nothing else.',
    now: 'Nothing was exported.',
    remedy: 'Name another file, or say --force if the file may be replaced.',
  },
  EXPORT_FAILED: {
    ...lasts,
    what: "The export could not be written. The message has the system's reason, such as a folder that is missing or a disk that is full.",
    now: 'Nothing was exported, and the unfinished file was removed.',
    remedy: 'Name a file (--output) in a folder that this user can write to, on a disk with enough room.',
  },
  OUTPUT_FAILED: {
    ...lasts,
    what: 'The standard output could not be written, for example because the disk of its file is full.',
    now: 'The command has ended; its output is cut short.',
    remedy: 'Write to a disk with enough room, and run the command again.',
  },
  EXPORT_VALUE: {
    ...lasts,
    what: 'A value does not fit the type of its column. With --decimals, a text must be a number with no more digits after its point than the column has.',
    now: 'Nothing was exported, and the unfinished file was removed.',
    remedy: 'Allow more digits (--decimals 18), or leave out --decimals: the column is then text.',
  },
  EXPORT_NEWER: {
    ...lasts,
    what: 'Values have types or fields that the schema does not have. An export without them would look whole.',
    now: 'Nothing was exported, and the unfinished file was removed.',
    remedy:
      'If a publisher has just begun to write by a new schema, export again. If the version was deleted from the registry, register it again. If the feed had another namespace or other transitions then, export with the settings of that time. If another program wrote them, export from after them (--since). `highwater tail --json` shows values as they were written.',
  },
  EXPORT_UNPROVEN: {
    ...lasts,
    what: 'It cannot be proven how the records were at that time. Retention has removed changes that came after it, or the present life of the feed began later, by a reset or a restore.',
    now: 'Nothing was exported, and the unfinished file was removed.',
    remedy: 'Choose a later time.',
    see: 'export.md',
  },
  LOG_FAILED: {
    ...passes,
    what: 'The log could not be read or written. SQLite or the brokers name a reason for which there is no other code.',
    now: 'Nothing of the batch was written. It is tried again.',
    remedy:
      'Nothing, if it passes. Otherwise look at the reason in the message, and run `highwater doctor`: it tries the log, be it the data folder (HIGHWATER_DATA_DIR) and its disk, or the brokers (KAFKA_BROKERS).',
  },
  LOG_RECORD_REFUSED: {
    ...lasts,
    what: 'The brokers refuse a record, and would refuse it again. It is larger than its topic allows, or its time stamp is too far from their clock.',
    now: 'The record was not written. A dead letter that is too large is written without the value of its event; over any other dead letter, the consumer stops in front of the event.',
    remedy: 'Raise max.message.bytes of the topic, or set the clock of this machine right.',
  },
  LOG_CLOSED: {
    ...lasts,
    what: 'The log was used after it was closed.',
    now: 'Nothing was written.',
    remedy: 'Nothing: the program is ending.',
  },
} satisfies Kinds;

const NOTHING_PUBLISHED = 'Nothing is published; it is tried again slowly.';
const brokerLost = 'runbook/broker-lost.md';
const connecting = 'kafka-connection.md';

const kafka = {
  KAFKA_UNREACHABLE: {
    ...passes,
    what: 'The Kafka brokers cannot be reached. No broker answers, or the broker that is needed does not: it is down, it restarts, or its address is wrong. Or the token server gives no token for the login for now; the message says which.',
    now: 'Nothing of the batch was written. It is tried again.',
    remedy:
      'Check the addresses (KAFKA_BROKERS), the network, whether the brokers run, and whether they expect TLS (KAFKA_SSL) or a login (KAFKA_SASL_USERNAME).',
    see: brokerLost,
  },
  KAFKA_CERTIFICATE: {
    ...parks,
    what: 'The certificate of a Kafka broker, or of its token server, is not trusted. Its authority is unknown here, it has expired, is not valid yet, or is for another host; the message says which.',
    now: 'Nothing is published, and the password is not sent. It is tried again slowly.',
    remedy: 'Check the certificate of the brokers and the authority to trust (KAFKA_SSL_CA_FILE).',
    see: connecting,
  },
  KAFKA_UNAUTHENTICATED: {
    ...parks,
    what: "The Kafka brokers refused the login. A broker refused the user or the client's certificate, or demands one that is not set. Brokers give the same answer for an unknown user and a wrong password. Or a broker refused the token, or the token server refused the client.",
    now: NOTHING_PUBLISHED,
    remedy:
      'Check user, password and mechanism (KAFKA_SASL_USERNAME, KAFKA_SASL_PASSWORD, KAFKA_SASL_MECHANISM), or the token or its client (KAFKA_SASL_OAUTHBEARER_…). A secret or a certificate in a file is read again by itself.',
    see: connecting,
  },
  KAFKA_FORBIDDEN: {
    ...parks,
    what: 'A permission on Kafka is missing. The message names the operation, and the topic, transactional id or cluster for which the user lacks it.',
    now: 'Nothing of the feed is published; it is tried again slowly.',
    remedy: 'Allow the user the operation named above (kafka-acls.sh --add).',
    see: 'kafka-connection.md#permissions',
  },
  LOG_OUTCOME_UNKNOWN: {
    ...passes,
    what: 'The outcome of a commit is not known. The connection was lost during the commit of a transaction, and the brokers could not be asked in time. Or the thread ended that commits large batches to the embedded log. Nothing is lost or repeated: the next owner of the feed, most often this process, first reads what was committed.',
    now: 'This owner writes nothing more. The feed is acquired again, and the committed state is read back first.',
    remedy:
      'Nothing, if it passes. Otherwise find out why the brokers do not answer, or why this machine lacks memory.',
    see: brokerLost,
  },
  LOG_TOPIC_LOST: {
    ...passes,
    what: 'A topic of the feed was deleted, perhaps while no publisher ran, or lost records. If a partition is at an offset that it has passed before, the topic was created again, or brokers lost records that they had confirmed (`unclean.leader.election.enable`, or one replica and a power cut).',
    now: 'Nothing of the batch was written. The feed is acquired again: topics that are missing are created, and the state is read back and compared with the source offset.',
    remedy:
      'Nothing, if the feed goes on. If a topic of events was deleted, `highwater snapshot FEED` publishes every record again, but no transitions; until then `status` shows it. If STATE_DAMAGED follows, find out who deleted the topic, or why brokers lost confirmed records.',
    see: stateDamaged,
  },
  LOG_RESTORE_STALLED: {
    ...passes,
    what: 'The state of the feed could not be read back in time. Another program has a transaction open on a partition, and readers of committed records cannot pass an open transaction.',
    now: 'The feed is not polled until its state has been read back. Reading is tried again.',
    remedy:
      'Look for the open transaction (kafka-transactions.sh find-hanging). Only highwater may write to this topic.',
    see: brokerLost,
  },
  LOG_UNREADABLE: {
    ...parks,
    what: 'A batch of a Kafka topic cannot be read. Its checksum is wrong, it cannot be decompressed or decoded, or its format is older than Kafka 0.11. A damaged batch means a damaged disk of its broker; if the partition has replicas, another broker may have the whole batch.',
    now: 'Nothing behind this batch is read, and nothing was written.',
    remedy:
      'Check whether another reader gets past it (kafka-console-consumer.sh), and how the broker stores it (kafka-dump-log.sh). If these fail too, restore the topic.',
    see: stateDamaged,
  },
} satisfies Kinds;

const REGISTRY_SLOWLY = 'Nothing of the feed is published; the registry is asked again slowly.';
const registryLost = 'runbook/registry-lost.md';
const schemaRefused = 'runbook/schema-refused.md';

const schemas = {
  REGISTRY_UNREACHABLE: {
    ...passes,
    what: 'The schema registry cannot be reached. It does not answer within 10 s (three tries), or answers with 5xx or 429, or its token server gives no token for now; the message says which. A process needs the registry only when it acquires a feed for the first time. A publisher at work goes on with the ids that it has, even if it acquires its feed again.',
    now: 'Nothing is published without a known schema id; the registry is asked again.',
    remedy:
      'Check the address (SCHEMA_REGISTRY_URL), the network, and whether the registry and its token server run.',
    see: registryLost,
  },
  REGISTRY_UNAUTHORIZED: {
    ...parks,
    what: 'The schema registry refused the login. It answered 401 or 403, or its token server refused the client. To register schemas, the user must be allowed to write the subjects and their compatibility level. With HIGHWATER_SCHEMA_REGISTRATION=lookup, reading the subjects is enough.',
    now: REGISTRY_SLOWLY,
    remedy:
      'Check user and password (SCHEMA_REGISTRY_USERNAME, SCHEMA_REGISTRY_PASSWORD), or the token or its client (SCHEMA_REGISTRY_BEARER_AUTH_…), and what they may do. A secret in a file is read again by itself.',
    see: 'runbook/token-rotated.md',
  },
  REGISTRY_CERTIFICATE: {
    ...parks,
    what: 'A certificate at the schema registry is not accepted. It is that of the registry, or that of this client. No trusted authority signed it, it has expired, is not valid yet, or is for another host; the message says which.',
    now: REGISTRY_SLOWLY,
    remedy:
      'Name the file with the certificate of the authority that signed that of the registry (SCHEMA_REGISTRY_CA_FILE). If the registry asks for a certificate of its clients, set SCHEMA_REGISTRY_CERT_FILE and SCHEMA_REGISTRY_KEY_FILE. If its certificate has expired or is for another host, check the address (SCHEMA_REGISTRY_URL) and the clock. Files are read again by themselves.',
    see: 'kafka-connection.md#tls-and-logins',
  },
  REGISTRY_REFUSED: {
    ...parks,
    what: "The schema registry refused the request. The error concerns neither compatibility nor the login, or another server answered: with a login page, a 404 or a redirect. A redirect is not followed, because it would carry the password elsewhere. Confluent's registry has its API at the root, Apicurio below `/apis/ccompat/v7`.",
    now: REGISTRY_SLOWLY,
    remedy:
      "Act on the registry's message; check that SCHEMA_REGISTRY_URL is the base of a Confluent-compatible API.",
  },
  SCHEMA_INCOMPATIBLE: {
    ...parks,
    what: 'A schema is not compatible with its earlier versions. Readers of one version could not read records of the other, so consumers would break. The message names the subject, the version and the field. The publisher compares with all versions of the subject before it asks the registry, so a registry that checks less makes no difference. If the message has the number 409, the registry refused a schema that the publisher found compatible, and the message has its reason. `highwater schemas check` finds all of this before an upgrade, and changes nothing.',
    now: 'Nothing was published with it.',
    remedy:
      'In a feed of your own, make the new field nullable with a default, or give it or the feed another name. Otherwise go back to the previous version, or give these topics their own prefix (HIGHWATER_TOPIC_PREFIX).',
    see: schemaRefused,
  },
  SCHEMA_UNREGISTERED: {
    ...parks,
    what: 'A schema is not registered. Schemas are only looked up (HIGHWATER_SCHEMA_REGISTRATION=lookup), and the registry has no schema or another schema under the subject. `highwater schemas check` lists all missing schemas, and with the same setting it fails if there are any.',
    now: REGISTRY_SLOWLY,
    remedy:
      'Register the schemas (`highwater schemas register`), or let the publisher do it (HIGHWATER_SCHEMA_REGISTRATION=register).',
    see: schemaRefused,
  },
  SCHEMA_UNRECORDED: {
    ...lasts,
    what: 'A schema or its change is not recorded in the history. `highwater schemas check --history` found a schema that is not among the versions kept in the folder, or a version that the changelog beside the folder does not mention. The message names each subject. In the repository of highwater: `npm run generate -- --new-schema-version "what changed"`.',
    now: 'Nothing was changed.',
    remedy:
      'Keep the printed schema as the next version (`highwater schemas print --subject NAME > HISTORY/NAME/2.avsc`), and add a line to the changelog beside the folder.',
  },
  SCHEMA_UNKNOWN: {
    ...lasts,
    what: 'The registry does not have the schema id of a record. Ids belong to one registry. Records copied from another cluster have other ids, and a registry that was set up again gives new ids.',
    now: 'The record cannot be decoded.',
    remedy: 'Point to the registry or data folder that the record was written with.',
    see: registryLost,
  },
  SCHEMA_LOST: {
    ...parks,
    what: 'The schema registry no longer has a schema under an id that it gave for it. It was emptied, replaced, or restored from an older backup. A publisher looks once a minute, because nobody could read what it writes with such an id.',
    now: 'Nothing of the feed is published. The feed goes on by itself when the registry has its schemas again, under the same ids.',
    remedy:
      'Bring the registry back with its storage. If that is gone: `highwater schemas check` shows what is missing; see the runbook before you restart a publisher.',
    see: registryLost,
  },
  VALUE_FOREIGN: {
    ...lasts,
    what: 'A value was not written by highwater, or is damaged. It is not Avro in the Confluent wire format, or its bytes do not fit the schema that it names. If bytes of highwater do not fit, the registry was probably emptied or replaced: in a new registry the same ids mean other schemas.',
    now: 'The value is not decoded.',
    remedy:
      'Find out which program wrote it: only highwater should write to this topic. If highwater did, name the registry of that time (SCHEMA_REGISTRY_URL).',
  },
} satisfies Kinds;

const commands = {
  COMMAND_REFUSED: {
    ...lasts,
    what: 'The owner of the feed cannot carry out the command now. The message says why, for example that the feed is paused or that a snapshot still runs.',
    now: 'Nothing was done. The feed goes on as before.',
    remedy: 'Read the reason, then run the command again.',
    see: feedParked,
  },
  COMMAND_INTERRUPTED: {
    ...lasts,
    what: 'A long command was interrupted. Another command (`pause`, `reset`, `snapshot`, `backfill`) ended it, or its publisher stopped.',
    now: 'Everything published so far is committed.',
    remedy: 'Run the command again: a backfill continues where it stopped, any other command starts over.',
  },
  COMMAND_NOT_ACCEPTED: {
    ...passes,
    what: 'No publisher took the command in time. A publisher runs, but it hangs, does not have the feed, or could not take it over (a refused schema, a damaged state). Only the owner of a feed takes its commands.',
    now: 'The request is withdrawn: a publisher that wakes up later ignores it.',
    remedy:
      'Check whether the publisher hangs, whether it has the feed (HIGHWATER_FEEDS), and whether its log names an error of the feed. Fix it, restart the publisher, and run the command again.',
    see: feedParked,
  },
  COMMAND_UNANSWERED: {
    ...lasts,
    what: 'The owner of the feed took the command, but its answer did not come.',
    now: 'The command no longer waits. It is not known whether it was carried out.',
    remedy:
      'See whether the publisher still runs, and how its feed stands (`highwater tail <feed>.source-offset`). Then run the command again.',
    see: 'runbook/feed-behind.md',
  },
} satisfies Kinds;

const consumers = 'runbook/consumers.md';

const consumer = {
  LOG_POSITION_LOST: {
    ...lasts,
    what: 'The position of a consumer is no longer in the log. Retention removed it, the data folder was deleted and created again, or a copy of the log was restored. On Kafka, the topic may also have been deleted and created again: a group then reads the new topic from its beginning (Kafka 3.1 and later), but tables and readers without a group end with this error. A group with `from: stored-or-fail` that has no position gets it too: brokers forget positions. A program whose `positions` have no topic id gets this error only if the new topic is shorter; in a longer topic it skips the records before its position.',
    now: 'The consumer stops: if it went on, it would skip records that it never saw.',
    remedy:
      'Read the table (`<feed>.current`) instead of the events that are gone. Then go on with the first event that is kept (`onLost: continue`), begin with a new group, or move the old group to positions that still exist (`highwater groups reset`).',
    see: consumers,
  },
  GROUP_LOST: {
    ...passes,
    what: 'The group went on without this consumer. It gave no sign of life for longer than the session timeout: its process was frozen, its network was cut, or a handler took too long when the group needed the partition back.',
    now: 'This member commits nothing more for the partition. Its new owner begins at the position of the group.',
    remedy:
      'Nothing, if it is rare. Otherwise a handler takes longer than the session timeout: make the handler shorter, or raise the timeout.',
    see: consumers,
  },
  GROUP_IN_USE: {
    ...lasts,
    what: 'A group of consumers has live members. They would not notice that it was moved, and would commit their own positions over it.',
    now: 'Nothing was moved.',
    remedy:
      'Stop all programs that consume as this group, and run the command again. On Kafka a member that died counts as live until its session timeout (10 s) is over.',
    see: consumers,
  },
  CONSUMER_HANDLER_FAILED: {
    ...lasts,
    what: 'The handler of a consumer (`highwater/consumer`) failed at every try. The message names the event by topic, partition, offset and id; the cause is the error of the handler.',
    now: 'The consumer stops, and its group stays before this event: nothing is skipped.',
    remedy:
      "Fix the cause and start the consumer again. To continue without such events, set onFailure: 'dead-letter'.",
    see: consumers,
  },
} satisfies Kinds;

const deliveries = 'deliver.md';

const delivery = {
  DELIVERY_FAILED: {
    ...passes,
    what: 'The receiver of a delivery did not take an event. It gave no answer, answered with an error or a redirect, or shows a certificate that is not trusted. The message has its answer.',
    now: 'The event is sent again, ever more slowly (at least every minute), or when the receiver asks for it (`Retry-After`). Later events of its partition wait. After `retryFor` (24 h) it becomes a dead letter.',
    remedy:
      'Check the receiver and its address. The delivery goes on by itself once the receiver answers with a status from 200 to 299.',
    see: deliveries,
  },
  DELIVERY_REFUSED: {
    ...lasts,
    what: 'The receiver of a delivery refused this event (400, 413, 415 or 422). The message has its answer.',
    now: 'The event is sent five times; then it becomes a dead letter, and the delivery goes on.',
    remedy:
      'Find out from the answer what the receiver does not take. `highwater deliver --dry-run` prints what is sent. Dead letters can be delivered again.',
    see: deliveries,
  },
} satisfies Kinds;

const faults = {
  UNEXPECTED: {
    ...passes,
    what: 'An unexpected error happened. It is a fault of highwater for which there is no other code; the log line has the stack.',
    now: 'Nothing was committed. The feed is tried again.',
    remedy: 'This is a bug: please report it with the lines above.',
  },
} satisfies Kinds;

/** Grouped by what is wrong, in the order of the page. */
export const errorGroups = {
  'Settings and command lines': settings,
  'The API': api,
  'Answers of the API': answers,
  'Owners and state of a feed': feedState,
  'The embedded log': embeddedLog,
  Kafka: kafka,
  'Schemas and the registry': schemas,
  "Operators' commands": commands,
  Consumers: consumer,
  Deliveries: delivery,
  'Faults of highwater': faults,
} satisfies Readonly<Record<string, Kinds>>;
