import { shortText } from '../../format/short-text';

const MOST_CHARACTERS = 400;

/** The first line of what an error says, fit for the page. The rest, such as a stack, the log of the program has. */
export function errorText(text: string): string {
  return shortText(text.split('\n', 1)[0]!, MOST_CHARACTERS);
}
