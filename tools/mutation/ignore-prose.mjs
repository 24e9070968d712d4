/** Texts with a space in them are written for people: tests do not hold them word by word. Keys and codes have none. */
function isProse({ node }) {
  if (node.type === 'StringLiteral') return node.value.includes(' ');
  return node.type === 'TemplateLiteral' && node.quasis.some(({ value }) => value.raw.includes(' '));
}

export const strykerPlugins = [
  {
    kind: 'Ignore',
    name: 'prose',
    value: { shouldIgnore: (path) => (isProse(path) ? 'a text for people' : undefined) },
  },
];
