import { z } from 'zod';
import { readSchema } from '../avro/schemas';
import {
  type Condition,
  type Delivery,
  type Destination,
  groupOf,
  type Place,
  type Target,
} from '../delivery/delivery';
import type { Feed } from '../feeds/feed';
import type { Live, Rotation } from '../secrets/rotation';
import { meant, meantOrKnown } from './did-you-mean';
import { declaredSchema, recordPaths } from './feeds/declared-schema';
import { variableCalled } from './feeds/feed-access';
import { valueAt } from './feeds/feed-settings';
import { type ConfigFile, mistakeIn } from './files/config-file';
import { secretFrom } from './files/secrets';
import { type Mistake, unexpected } from './mistake';
import { age, bareUrl, list, matching, oneOf, text } from './value-types';

const value = z.string().nullable();
const values = z.union([value.transform((one) => [one]), z.array(value).min(1)]);
const conditionText = 'a value, a list of values, or not with one of these';
const condition = z
  .union([values, z.strictObject({ not: values })], { error: conditionText })
  .transform(
    (given): Condition =>
      Array.isArray(given) ? { values: given, not: false } : { values: given.not, not: true },
  );

const variable = matching(/^(?!whsec_)[A-Za-z_]\w*$/, 'the name of a variable').optional();
const file = text('the path of a file').optional();
const hiddenText = 'urlEnv (a variable that holds the address) or urlFile (a file that holds it)';
const hidden = z
  .strictObject({ urlEnv: variable, urlFile: file }, { error: hiddenText })
  .refine(({ urlEnv, urlFile }) => (urlEnv === undefined) !== (urlFile === undefined), { error: hiddenText })
  .transform(({ urlEnv, urlFile }) => placeOf(urlEnv, urlFile)!);
const webhookText = `an address of http or https without user, query or fragment, or ${hiddenText}`;
const toText =
  'webhook with an address and secretEnv or secretFile, or slack with urlEnv or urlFile (Slack addresses are secrets)';
const to = z
  .strictObject(
    {
      webhook: z.union([bareUrl(), hidden], { error: webhookText }).optional(),
      slack: hidden.optional(),
      secretEnv: variable,
      secretFile: file,
    },
    { error: toText },
  )
  .transform(({ webhook, slack, secretEnv, secretFile }, context): Destination => {
    const url = webhook ?? slack;
    const secret = placeOf(secretEnv, secretFile);
    const isSlack = slack !== undefined;
    const isTwofold = (webhook && slack) || (secretEnv && secretFile) || (isSlack && secret !== null);
    if (url !== undefined && !isTwofold) return { kind: isSlack ? 'slack' : 'webhook', url, secret };
    context.addIssue({ code: 'custom', message: toText });
    return z.NEVER;
  });

const topicsText =
  'names of topics, such as ipos.deal-status, of letters, digits, dots, dashes and underscores';

/** One section of `deliveries`. Descriptions are printed in the reference page. */
export const deliverySettings = z.strictObject(
  {
    topics: list(topicsText)
      .refine((names) => names.every((name) => /^[A-Za-z0-9._-]{1,249}$/.test(name)), { error: topicsText })
      .describe('Topics whose events are delivered, without prefix.'),
    where: z
      .record(z.string(), condition, { error: 'fields of the event, each with its values' })
      .default({})
      .describe(
        'Conditions on fields of the event (dotted paths): a value, a list of values, or `{ not: … }`. All must hold. Default: every event.',
      ),
    to: to.describe(
      '`{ webhook: https://…, secretFile: … }` or `{ slack: { urlEnv: … } }`. Secrets stand in files (`urlFile`, `secretFile`) or variables (`urlEnv`, `secretEnv`).',
    ),
    from: oneOf(['beginning', 'end'])
      .default('end')
      .describe('Whether a new delivery begins with all events that are kept. Default: `end`.'),
    retryFor: age()
      .default(86_400_000)
      .describe(
        'How long a receiver that fails is asked again before its events become dead letters. Default: 24h.',
      ),
  },
  { error: 'settings of a delivery' },
);

/** It becomes part of the names of a consumer group and of a topic. */
const deliveryName = /^[a-z0-9][a-z0-9_-]{0,60}$/;

/** Topics beside that of a feed's changes, and those of deliveries. */
const OTHER_ROLES = /\.(current|dead-letters|source-offset)$/;

export function loadDeliveries(file: ConfigFile, feeds: readonly Feed[], mistakes: Mistake[]): Delivery[] {
  const sections = file.values.deliveries ?? {};
  const add = (path: readonly PropertyKey[], problem: string): void =>
    void mistakes.push(mistakeIn(file, ['deliveries', ...path], problem));
  if (typeof sections !== 'object' || Array.isArray(sections)) {
    const expected = 'a section for each delivery';
    add([], mayHoldAddress(sections) ? `expected ${expected}` : unexpected(sections, expected));
    return [];
  }
  const fieldsOf = eventFields(feeds);
  return Object.entries(sections).flatMap(([name, section]) => {
    const at = (path: readonly PropertyKey[], problem: string) => add([name, ...path], problem);
    const { topics } = (section ?? {}) as { readonly topics?: unknown };
    if (Array.isArray(topics) && topics.includes(`${groupOf({ name })}.dead-letters`))
      at(['topics'], 'has the dead letters of this delivery itself, expected another delivery for them');
    if (!deliveryName.test(name))
      at([], 'is not a name, expected small letters, digits, dashes, underscores');
    const parsed = deliverySettings.safeParse(section ?? {});
    for (const issue of parsed.error?.issues ?? []) report(issue, section, at);
    if (parsed.data === undefined) return [];
    const { retryFor, ...delivery } = parsed.data;
    const known = delivery.topics.map((topic) => fieldsOf.get(topic));
    // A topic that another instance publishes may have any fields.
    if (!known.includes(undefined))
      checkFields(
        Object.keys(delivery.where),
        known.flatMap((one) => one!),
        at,
      );
    const foreignTopics = delivery.topics.filter(
      (topic) => !fieldsOf.has(topic.replace(OTHER_ROLES, '')) && !topic.startsWith(groupOf({ name: '' })),
    );
    return [{ ...delivery, name, foreignTopics, retryForMs: retryFor }];
  });

  function checkFields(paths: readonly string[], fields: readonly string[], at: typeof add): void {
    for (const path of paths) {
      if (fields.includes(path) || /^(before|after)\.extra\./.test(path)) continue;
      at(['where', path], `is not a field of these events${meant(path, fields)}`);
    }
  }
}

function report(
  issue: z.core.$ZodIssue,
  section: unknown,
  at: (path: readonly PropertyKey[], problem: string) => void,
): void {
  const { path, message } = issue;
  if (issue.code === 'unrecognized_keys') {
    const known =
      path.length === 0 ? deliverySettings.shape : { webhook: 0, slack: 0, secretEnv: 0, secretFile: 0 };
    const names = Object.keys(known);
    for (const key of issue.keys) {
      const problem = `is not a setting of a delivery${meantOrKnown(key, names)}`;
      // A secret may have been written in the place of a key.
      if (/^\w{1,30}$/.test(key)) at([...path, key], problem);
      else at(path, `has a key that ${problem}`);
    }
    return;
  }
  const found = valueAt(section, path);
  if (found === undefined) at(path, `is not set, expected ${message}`);
  // An address or a secret may have been written in the place of its variable.
  else
    at(path, path[0] === 'to' || mayHoldAddress(found) ? `expected ${message}` : unexpected(found, message));
}

const mayHoldAddress = (value: unknown): boolean => JSON.stringify(value).includes('://');

/** Topic → dotted paths of the fields of its events. */
function eventFields(feeds: readonly Feed[]): ReadonlyMap<string, readonly string[]> {
  const pathsOf = (schema: string) => {
    const declared = declaredSchema(schema);
    return 'problem' in declared ? [] : recordPaths(declared.schema).avro;
  };
  const ofEnvelope = recordPaths(readSchema('envelope.avsc')).avro;
  const fields = new Map<string, readonly string[]>();
  const add = (topic: string, paths: readonly string[]) =>
    fields.set(topic, [...(fields.get(topic) ?? []), ...paths]);
  for (const { topic, schema, transitions } of feeds) {
    const images = pathsOf(schema).flatMap((path) => [`before.${path}`, `after.${path}`]);
    add(topic, [...ofEnvelope, ...images]);
    for (const transition of transitions) add(transition.topic, pathsOf(transition.schema));
  }
  return fields;
}

function placeOf(env: string | undefined, path: string | undefined): Exclude<Place, string> | null {
  if (env !== undefined) return { env };
  return path === undefined ? null : { file: path };
}

export interface TargetInput {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly rotation: Rotation;
}

/** Variables that deliveries name. */
export function namedVariables(deliveries: readonly Delivery[]): string[] {
  return deliveries.flatMap(({ to: { url, secret } }) =>
    [url, secret].flatMap((place) =>
      typeof place === 'object' && place !== null && 'env' in place ? place.env : [],
    ),
  );
}

/** Reads the variables and files of a destination. Files are read again when they change. @returns mistakes if one is not usable */
export function targetOf(
  { name, to: { kind, url, secret } }: Delivery,
  { env, cwd, rotation }: TargetInput,
): Target | readonly Mistake[] {
  const key = `deliveries.${name}.to`;
  const isOpen = typeof url === 'string';
  const address = isOpen ? { value: [url] } : wordsAt(`${key}.${kind}`, url, wrongAddress, addressSecrets);
  const signing =
    secret === null ? { value: [] } : wordsAt(`${key}.secret`, secret, wrongSecrets, (words) => words);
  const mistakes = [address, signing].flatMap((found) => ('problem' in found ? found : []));
  if (mistakes.length > 0) return mistakes;
  const [live, secrets] = [address, signing] as readonly Live<readonly string[]>[];
  const target = {
    kind,
    get value() {
      return live!.value[0]!;
    },
  };
  return {
    kind,
    url: target,
    get shown() {
      return isOpen ? url : new URL(target.value).origin;
    },
    secrets: secrets!,
  };

  /**
   * What a variable or a file holds, without the blanks between. Nobody sees it from then on.
   * @param wrong returns the form that is expected instead; null: it is right
   * @param hidden returns what nobody may see
   */
  function wordsAt(
    at: string,
    place: Exclude<Place, string>,
    wrong: (words: readonly string[]) => string | null,
    hidden: (words: readonly string[]) => readonly string[],
  ): Live<readonly string[]> | Mistake {
    const wordsIn = (content: string) => content.split(/\s+/).filter((word) => word !== '');
    const secretsIn = (content: string) => hidden(wordsIn(content));
    const expected = (content: string) => wrong(wordsIn(content));
    const mistake = (problem: string): Mistake => ({ key: at, where: null, problem });
    if ('env' in place) {
      const content = env[place.env] ?? '';
      const where = variableCalled(place.env);
      if (content.trim() === '') return mistake(`${where} is not set`);
      rotation.hide(secretsIn(content));
      const problem = expected(content);
      return problem === null
        ? { value: wordsIn(content) }
        : mistake(`${where} holds something else, expected ${problem}`);
    }
    const found = secretFrom(at, place, expected, { cwd, rotation, secretsIn });
    if ('problem' in found) return mistake(found.problem);
    rotation.hide(secretsIn(found.token));
    return {
      get value() {
        return wordsIn(found.live.value);
      },
    };
  }
}

function wrongAddress(words: readonly string[]): string | null {
  const [word = ''] = words;
  const isAddress = words.length === 1 && URL.canParse(word) && /^https?:$/.test(new URL(word).protocol);
  return isAddress ? null : 'one address of http or https';
}

/** Servers repeat the path of a request in their errors. */
function addressSecrets(words: readonly string[]): readonly string[] {
  return words.flatMap((word) => {
    if (!URL.canParse(word)) return word;
    const { pathname, search, username, password } = new URL(word);
    const parts = [...pathname.split('/'), ...search.split(/[?&=]/), username, password];
    return [word, pathname + search, ...parts.filter((part) => !isWord.test(part))].filter(
      (part) => part.length >= LEAST_SECRET,
    );
  });
}

/** Shorter parts of an address, and words such as `services`, would hide ordinary text. Characters. */
const LEAST_SECRET = 8;
const isWord = /^[a-z-]{0,15}$/;

/** Standard Webhooks wants 24 to 64 bytes. */
function wrongSecrets(words: readonly string[]): string | null {
  const areSecrets = words.every((word) => /^(whsec_)?[A-Za-z0-9+/]{32,88}={0,2}$/.test(word));
  return areSecrets ? null : 'secrets such as whsec_ with 24 to 64 bytes in base64, one a line';
}
