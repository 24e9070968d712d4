import { isObject, type Members, valueAtPath } from '../json/dotted-path';

/** Such a text is the same in every answer. Others are tokens, times or addresses. */
const WORDS = /^[A-Za-z][A-Za-z _#:-]{0,39}$/;

/** The members beside the list of rows in the answers of a feed, by which an answer that leaves out an empty list is recognized. */
export class AnswerShape {
  private readonly beside = new Map<string, unknown>();
  private readonly onTheWay = new Set<string>();
  /** An answer with a list was noted. */
  isKnown = false;

  /** @param answer holds a list at the dotted path */
  note(answer: Members, responseKey: string): void {
    this.isKnown = true;
    const names = responseKey.split('.');
    for (const level of names.keys()) {
      const path = names.slice(0, level).join('.');
      const holder = level === 0 ? answer : valueAtPath(answer, path);
      if (!isObject(holder)) return;
      this.onTheWay.add(`${path} ${names[level]}`);
      for (const [name, value] of Object.entries(holder))
        if (name !== names[level]) this.beside.set(`${path} ${name}`, value);
    }
  }

  /**
   * Whether members stood beside the list before, with the same words. PHP writes an object without members as an empty list.
   * @param path of the object that holds them; empty: the answer
   */
  hasAll(members: Members, path: string): boolean {
    return Object.entries(members).every(([name, value]) => {
      const member = `${path} ${name}`;
      if (this.onTheWay.has(member)) return Array.isArray(value) && value.length === 0;
      const before = this.beside.get(member);
      const isWord = typeof before === 'string' && WORDS.test(before);
      return this.beside.has(member) && (!isWord || value === before);
    });
  }
}
