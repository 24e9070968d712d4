import path from 'node:path';
import type { ApiFeed } from '../../faults/api-run';
import type { Hostility } from './hostility';
import { brevo, clickup, github, hubspot, linear, personio, plain, stripe, zendesk } from './shapes';

const root = path.join(__dirname, '..', '..', '..');
const example = (name: string): string => path.join(root, 'examples', 'apis', name);

/** Faults that pass, and changes that only a reconcile finds. */
const hostile: Partial<Hostility> = {
  eachFails: 23,
  eachTooMany: 61,
  eachCut: 29,
  lateMs: 700,
  removals: 0.08,
  silentChanges: 0.08,
};
/** Faults that only a cursor can have. A scan is begun again after the last two. */
const byCursor: Partial<Hostility> = { repeatedRows: 2, eachEmpty: 7, eachExpired: 41, eachRepeated: 37 };

/** A feed for each server, with the server's faults. Pages are short, so that a scan takes many. */
export const apiFeeds: readonly { readonly of: ApiFeed; readonly hostility: Partial<Hostility> }[] = [
  {
    of: {
      shape: plain,
      feed: 'orders',
      folder: path.join(root, 'test', 'fixtures', 'plain-api'),
      tokenEnv: 'HIGHWATER_API_TOKEN',
    },
    hostility: hostile,
  },
  {
    of: { shape: zendesk, feed: 'tickets', folder: example('zendesk'), tokenEnv: 'ZENDESK_TOKEN' },
    hostility: { ...hostile, ...byCursor, pageCap: 25, endlessCursor: true },
  },
  {
    of: {
      shape: github,
      feed: 'issues',
      folder: example('github'),
      tokenEnv: 'GITHUB_TOKEN',
      filledIn: { OWNER: 'acme', REPOSITORY: 'boats' },
    },
    hostility: { ...hostile, ...byCursor, pageCap: 25 },
  },
  {
    // In the order of making, and with a cap on pages that the settings do not know of.
    of: {
      shape: brevo,
      feed: 'contacts',
      folder: example('brevo'),
      tokenEnv: 'BREVO_API_KEY',
      omit: ['attributes.SMS'],
    },
    hostility: { ...hostile, pageCap: 25 },
  },
  {
    of: {
      shape: clickup,
      feed: 'tasks',
      folder: example('clickup'),
      tokenEnv: 'CLICKUP_TOKEN',
      filledIn: { WORKSPACE: '9001' },
    },
    hostility: { ...hostile, pageCap: 25, exclusiveFilter: true },
  },
  {
    // Its tokens end in the middle of scans.
    of: {
      shape: personio,
      feed: 'persons',
      folder: example('personio'),
      tokenEnv: 'PERSONIO_SECRET',
      filledIn: { CLIENT_ID: 'desk' },
    },
    hostility: { ...hostile, ...byCursor, pageCap: 25, exclusiveFilter: true },
  },
  {
    of: {
      shape: stripe,
      feed: 'customers',
      folder: path.join(root, 'test', 'fixtures', 'last-row-api'),
      tokenEnv: 'STRIPE_KEY',
    },
    hostility: { ...hostile, pageCap: 25, repeatedRows: 2 },
  },
  {
    of: { shape: hubspot, feed: 'companies', folder: example('hubspot'), tokenEnv: 'HUBSPOT_TOKEN' },
    hostility: { ...hostile, pageCap: 25 },
  },
  {
    of: { shape: linear, feed: 'backlog', folder: example('linear'), tokenEnv: 'LINEAR_KEY' },
    hostility: { ...hostile, ...byCursor, pageCap: 25 },
  },
];
