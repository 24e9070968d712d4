import { analysts } from './analysts';
import type { FeedDefinition } from './definition';
import { insights } from './insights';
import { ipos } from './ipos';

/** The feeds that come with highwater; `highwater.yaml` can override their settings and add further ones. */
export const feedDefinitions: readonly FeedDefinition[] = [insights, analysts, ipos];
