/** What a program of a limit is given, as its only argument. */
export interface LimitInput {
  readonly records: number;
  readonly apiUrl: string;
  readonly token: string;
  readonly brokers: string;
  /** Where its topics begin; made and deleted around it. */
  readonly topic: string;
  /** A folder of its own. */
  readonly folder: string;
}

export function limitInput(): LimitInput {
  return JSON.parse(process.argv[2]!) as LimitInput;
}
