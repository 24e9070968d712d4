import type { Measured } from './measured';
import type { Scene } from './scene';

/** One row of the table: a program that does the job, or a part of the job alone. */
export interface Contender {
  /** As `--only` takes it. */
  readonly name: string;
  /** As the table has it. */
  readonly title: string;
  /** What the others are compared with, when it does the whole job; limits do a part of it alone. */
  readonly role: 'ours' | 'peer' | 'lesser peer' | 'limit';
  /**
   * Before the first round: what is built once.
   * @returns null, or why it cannot be run on this machine
   */
  prepare?(scene: Scene): Promise<string | null>;
  /** One of its kind: the short form runs no others. */
  readonly isTypical?: true;
  /** One run, verified. @throws Error when the result is not complete, or the run is stuck */
  run(scene: Scene): Promise<Measured>;
}
