import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';

const root = path.join(__dirname, '..', '..');

/** A test, or a group of tests, that a page names: `file` › title. */
export interface NamedTest {
  readonly file: string;
  /** Undefined: the whole file. */
  readonly title: string | undefined;
}

export function namedTests(text: string): NamedTest[] {
  const unwrapped = text.replaceAll(/\n {0,4}(?![\s\-|#>]|\d+\.|\[\^|```)/g, ' ');
  const names = unwrapped.matchAll(/`(test\/[^`]+\.ts)`(?: › (.+?)(?=; `test\/|$))?/gm);
  return [...names].map(([, file = '', title]) => ({ file, title: title?.trim() }));
}

/** The tests that a page names and that `npm test` does not run: they are not there, skipped, or in a file that it leaves out. */
export function namedTestsThatNeverRun(text: string): string[] {
  return namedTests(text).flatMap(({ file, title }) => {
    if (!isRun(file)) return [file];
    const isThere = title === undefined || titlesThatRun(source(file)).some((found) => found.includes(title));
    return isThere ? [] : [`${file} › ${title}`];
  });
}

/** Whether jest takes the file for a suite, or a suite that it takes imports it: a contract that several adapters keep. */
function isRun(file: string): boolean {
  if (!existsSync(path.join(root, file))) return false;
  return file.endsWith('.test.ts') || importedBySuites().has(file);
}

let imported: ReadonlySet<string> | undefined;

function importedBySuites(): ReadonlySet<string> {
  if (imported !== undefined) return imported;
  const files = readdirSync(path.join(root, 'test'), { recursive: true, encoding: 'utf8' });
  const suites = files.filter((name) => name.endsWith('.test.ts')).map((name) => path.join('test', name));
  imported = new Set(
    suites.flatMap((suite) =>
      [...source(suite).matchAll(/ from '(\.[^']+)'/g)].map(([, specifier]) =>
        path.join(path.dirname(suite), `${specifier}.ts`),
      ),
    ),
  );
  return imported;
}

/**
 * Titles of the tests in a source text that run whenever its suite does, and of the groups around them: without those that
 * are skipped, still to do, or behind a condition.
 */
export function titlesThatRun(text: string): string[] {
  const titles: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isIfStatement(node) || ts.isConditionalExpression(node)) return;
    const call = ts.isCallExpression(node) ? testCall(node) : null;
    if (call === null) {
      ts.forEachChild(node, visit);
      return;
    }
    const { name, title, body } = call;
    if (!/^(it|test|describe)(\.each|\.only)?$/.test(name) || body === undefined) return;
    const inside = titles.length;
    visit(body);
    if (!name.startsWith('describe') || titles.length > inside) titles.push(title);
  };
  visit(ts.createSourceFile('suite.ts', text, ts.ScriptTarget.Latest));
  return titles;
}

/** `it('title', body)`, `describe.each(rows)('title', body)`, `it.skip…`, `xit…` and the like. */
function testCall({ expression, arguments: [title, ...rest] }: ts.CallExpression) {
  const name = calleeOf(expression);
  if (title === undefined || !/^[xf]?(it|test|describe)(\.|$)/.test(name)) return null;
  const isText = ts.isStringLiteral(title) || ts.isTemplateLiteral(title);
  if (!isText) return null;
  const body = rest.find((one) => ts.isArrowFunction(one) || ts.isFunctionExpression(one));
  return { name, title: ts.isTemplateExpression(title) ? title.head.text : title.text, body };
}

function calleeOf(node: ts.Expression): string {
  if (ts.isIdentifier(node)) return node.text;
  if (ts.isPropertyAccessExpression(node)) return `${calleeOf(node.expression)}.${node.name.text}`;
  if (ts.isCallExpression(node)) return calleeOf(node.expression);
  if (ts.isTaggedTemplateExpression(node)) return calleeOf(node.tag);
  if (ts.isParenthesizedExpression(node)) return calleeOf(node.expression);
  if (ts.isConditionalExpression(node)) return `${calleeOf(node.whenTrue)}.perhaps`;
  return '';
}

function source(file: string): string {
  return readFileSync(path.join(root, file), 'utf8');
}
