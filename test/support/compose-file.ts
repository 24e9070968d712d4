import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { root } from './build';

interface Service {
  readonly image: string;
  readonly environment?: Readonly<Record<string, string | number>>;
  readonly command?: readonly string[];
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly secrets?: readonly string[];
  readonly hostname?: string;
  readonly profiles?: readonly string[];
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly healthcheck: { readonly test: readonly string[] };
}

type Name = 'kafka' | 'registry' | 'simulator' | 'publisher-1' | 'publisher-2' | 'prometheus';

/** docker-compose.yml, with its anchors resolved and its variables as they stand. */
export function composeFile() {
  return parse(readFileSync(path.join(root, 'docker-compose.yml'), 'utf8'), { merge: true }) as {
    readonly services: Readonly<Record<Name, Service>>;
    readonly secrets: Readonly<Record<string, { readonly file: string }>>;
  };
}

/** The value if its variable is not set: `${NAME:-default}`. */
export function withoutVariable(value: string | number): string {
  return String(value).replace(/^\$\{\w+:-(.*)\}$/, '$1');
}
