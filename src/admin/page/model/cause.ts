import type { FeedView, ProblemView } from '../../dashboard/view';
import { asClause } from './text';

/** In the few words that a headline has; what exactly happened stands below it. */
export const causes: Readonly<Record<string, string>> = {
  SOURCE_UNAUTHORIZED: 'the API refused the token',
  SOURCE_FORBIDDEN: 'the API lets this token read none of it',
  SOURCE_RATE_LIMITED: 'the API allows no more requests for now',
  SOURCE_UNREACHABLE: 'the API cannot be reached',
  SOURCE_TIMEOUT: 'the API does not answer in time',
  SOURCE_UNAVAILABLE: 'the API is out of order',
  SOURCE_NOT_FOUND: 'the API does not have this address',
  SOURCE_REDIRECTED: 'the API points to another address',
  SOURCE_REQUEST_REFUSED: 'the API refused the request',
  SOURCE_REPORTED_ERROR: 'the API reported an error',
  SOURCE_UNEXPECTED_STATUS: 'the API answered with an unexpected status',
  SOURCE_WRONG_SHAPE: 'the API answered in another shape',
  SOURCE_NOT_JSON: 'the API answered with no JSON',
  SOURCE_BODY_TRUNCATED: 'answers of the API end too early',
  SOURCE_BODY_EMPTY: 'answers of the API are empty',
  SOURCE_BODY_TOO_LARGE: 'answers of the API are too large',
  SCAN_BEYOND_REACH: 'there is more than the paging reaches',
  SCAN_PAGING_IGNORED: 'the API ignores the paging',
  STATE_DAMAGED: 'its state in the log is damaged',
  LOG_UNWRITABLE: 'the log cannot be written to',
  LOG_FULL: 'the disk is full',
  LOG_BUSY: 'another program holds the log',
  LOG_CORRUPT: 'the log is damaged',
  LOG_NEWER: 'a later version wrote the log',
  LOG_FAILED: 'the log cannot be written to',
  LOG_TOPIC_MISMATCH: 'a topic is not as it has to be',
  LOG_TOPIC_LOST: 'a topic is gone',
  LOG_RESTORE_STALLED: 'its state cannot be read back',
  LOG_UNREADABLE: 'a topic cannot be read',
  SCHEMA_INCOMPATIBLE: 'a schema is refused',
  SCHEMA_UNREGISTERED: 'a schema is not registered',
  KAFKA_UNREACHABLE: 'Kafka cannot be reached',
  KAFKA_CERTIFICATE: 'a certificate of Kafka is not trusted',
  KAFKA_UNAUTHENTICATED: 'Kafka refused the login',
  KAFKA_FORBIDDEN: 'a permission on Kafka is missing',
  REGISTRY_UNREACHABLE: 'the schema registry cannot be reached',
  REGISTRY_UNAUTHORIZED: 'the schema registry refused the login',
  REGISTRY_REFUSED: 'the schema registry refused a schema',
  UNEXPECTED: 'an unexpected error',
};

const MOST_CHARACTERS = 100;

/** Why a feed is not as it should be, as a part of a sentence. */
export function causeOf({ feed, problem, reason }: Pick<FeedView, 'feed' | 'problem' | 'reason'>): string {
  if (problem !== null && Object.hasOwn(causes, problem.code)) return causes[problem.code]!;
  const text = asClause(problem === null ? reason : whatOf(feed, problem));
  return text.length <= MOST_CHARACTERS ? text : `${text.slice(0, MOST_CHARACTERS).trimEnd()}…`;
}

/** Errors begin with the name of their feed, which is there to see. */
export function whatOf(feed: string, { what }: Pick<ProblemView, 'what'>): string {
  return what.startsWith(`${feed}: `) ? what.slice(feed.length + 2) : what;
}
