/** The group in which the instances of an installation find each other. Feeds and prefixes have no colon. */
export function ownersGroup(appId: string, topicPrefix: string): string {
  return `${appId}:${topicPrefix}owners`;
}

/** After so long without a sign of life the others go on without a member, where nothing else is set, in ms. */
export const SESSION_TIMEOUT_MS = 10_000;
