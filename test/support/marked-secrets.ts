import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** A value that must not be seen anywhere, as `markedSecret` makes it. */
export interface MarkedSecret {
  /** The setting with this value: `HIGHWATER_API_TOKEN`. */
  readonly name: string;
  readonly value: string;
}

/** Something that was printed, written or answered. */
export interface Place {
  readonly name: string;
  readonly content: string | Buffer;
}

export interface Finding {
  readonly secret: string;
  /** How it was written: `percent-encoded`. */
  readonly form: string;
  readonly place: string;
  /** The text around it. */
  readonly excerpt: string;
}

let made = 0;

/**
 * A secret whose halves are found each alone, so that one that was cut is found too.
 * @param between what stands between them: characters that every encoding spells differently
 */
export function markedSecret(name: string, between = `/+"%&=?\\<~'`): MarkedSecret {
  const number = String(++made).padStart(2, '0');
  return { name, value: `Wq${number}vXkZ7p${between}fR${number}tYjM9c` };
}

/** The whole secret, and its parts if it is cut in the middle. */
const pieces = ({ value }: MarkedSecret) => [value, value.slice(0, 9), value.slice(-9)];

const bytesAs = (text: string, digits: (byte: number) => string, between = '') =>
  Array.from(Buffer.from(text), digits).join(between);
const hex = (byte: number) => byte.toString(16).padStart(2, '0');
const inJson = (text: string) => JSON.stringify(text).slice(1, -1);
const inForm = (text: string) => new URLSearchParams({ x: text }).toString().slice(2);

const inHtml = (text: string) =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
const brokenBy = (text: string, lineEnd: string) => (text.match(/.{1,7}/gs) ?? []).join(lineEnd);

/** Ways to write a text in which capitals do not matter. */
const spellings: Readonly<Record<string, (text: string) => string>> = {
  plain: (text) => text,
  'percent-encoded': encodeURIComponent,
  'percent-encoded in part': encodeURI,
  'percent-encoded throughout': (text) => bytesAs(text, (byte) => `%${hex(byte)}`),
  'percent-encoded twice': (text) => encodeURIComponent(encodeURIComponent(text)),
  'of a form': inForm,
  'of a form, encoded twice': (text) => inForm(inForm(text)),
  'of JSON': inJson,
  'of JSON with slashes escaped': (text) => inJson(text).replaceAll('/', '\\/'),
  'of JSON in JSON': (text) => inJson(inJson(text)),
  'of JSON in code units': (text) =>
    Array.from(text, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`).join(''),
  'percent-encoded in JSON': (text) => inJson(encodeURI(text)),
  'of HTML': inHtml,
  'of HTML in HTML': (text) => inHtml(inHtml(text)),
  'of HTML with padded numbers': (text) =>
    text.replace(/\W/g, (character) => `&#${String(character.charCodeAt(0)).padStart(4, '0')};`),
  'of HTML in ASCII JSON': (text) => inHtml(text).replaceAll('&', '\\u0026'),
};

/** Base64 keeps these characters for any text before and after. */
function base64Cores(text: string): string[] {
  const bytes = Buffer.from(text);
  return [0, 1, 2].map((before) => {
    const padded = Buffer.concat([Buffer.alloc(before), bytes]);
    const whole = padded.toString('base64').replace(/=+$/, '');
    return whole.slice(before === 0 ? 0 : before + 1, whole.length - (padded.length % 3 === 0 ? 0 : 1));
  });
}

interface Needle {
  readonly form: string;
  /** Bytes as Latin 1; in small letters unless capitals count. */
  readonly text: string;
  readonly capitalsCount: boolean;
}

function needlesOf(secret: MarkedSecret): Needle[] {
  const needles = new Map<string, Needle>();
  const add = (form: string, text: string, capitalsCount: boolean): void => {
    const key = `${capitalsCount} ${text}`;
    if (!needles.has(key)) needles.set(key, { form, text, capitalsCount });
  };
  for (const piece of pieces(secret)) {
    for (const [form, spell] of Object.entries(spellings)) add(form, spell(piece).toLowerCase(), false);
    for (const inner of [piece, encodeURIComponent(piece)]) {
      for (const core of base64Cores(inner)) {
        add('base64', core, true);
        add('base64 with slashes escaped', core.replaceAll('/', '\\/'), true);
        add('base64 of addresses', core.replaceAll('+', '-').replaceAll('/', '_'), true);
        add('base64, percent-encoded', encodeURIComponent(core), true);
      }
    }
  }
  return [...needles.values()];
}

/** Ways to break a text into lines. */
const lineEnds = ['\n', '\r\n', '\r\n\t  ', '\\n', '\\r\\n ', '\\\\n', '\\u000a', '%0D%0A'];
const anyLineEnd = /(?:[\r\n]|\\+(?:[rn]|u000[ad])|%0[ad])+[ \t]*/gi;

/** The value in each of the ways in which it is looked for, as a careless server would repeat it. */
export function everySpelling(value: string): string[] {
  const base64 = ['', 'a', 'ab'].map((before) => Buffer.from(`${before}${value}`).toString('base64'));
  const url = base64.map((text) => text.replaceAll('+', '-').replaceAll('/', '_'));
  const whole = [...Object.values(spellings).map((spell) => spell(value)), ...base64, ...url];
  const broken = [value, encodeURIComponent(value), ...base64].flatMap((text) =>
    lineEnds.map((lineEnd) => brokenBy(text, lineEnd)),
  );
  return [
    ...new Set([...whole, ...broken]),
    Buffer.from(`token=${encodeURIComponent(value)}`).toString('base64'),
  ];
}

/** Every secret that can be made out in a place, whole or half, with the first form that shows it there. */
export function findSecrets(secrets: readonly MarkedSecret[], places: Iterable<Place>): Finding[] {
  const wanted = secrets.map((secret) => ({ secret, needles: needlesOf(secret) }));
  const findings: Finding[] = [];
  for (const { name: place, content } of places) {
    const written = (typeof content === 'string' ? Buffer.from(content) : content).toString('latin1');
    const text = `${written}\0${written.replace(anyLineEnd, '')}`;
    const small = text.toLowerCase();
    for (const { secret, needles } of wanted) {
      for (const { form, text: needle, capitalsCount } of needles) {
        const at = (capitalsCount ? text : small).indexOf(needle);
        if (at < 0) continue;
        const excerpt = text.slice(Math.max(0, at - 60), at + needle.length + 40);
        findings.push({ secret: secret.name, form, place, excerpt });
        break;
      }
    }
  }
  return findings;
}

/** Every file under a folder, as it is on the disk. */
export function filesUnder(folder: string): Place[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name))
    .map((file) => ({ name: path.relative(folder, file), content: readFileSync(file) }));
}
