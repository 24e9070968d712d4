/** What stands between a link's angle brackets, and the parameters behind it. */
const linkPattern = /<([^<>]*)>((?:\s*;\s*[^\s"=;,<>]+(?:\s*=\s*(?:"(?:[^"\\]|\\.)*"|[^\s",;<>]*))?)*)/g;
const parameterPattern = /;\s*([^\s"=;,<>]+)(?:\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s",;<>]*)))?/g;

/** The target of `rel="next"` in a `Link` header (RFC 8288), as it is written there; null when there is none. */
export function nextLink(header: string | undefined): string | null {
  for (const [, target = '', parameters = ''] of (header ?? '').matchAll(linkPattern)) {
    // Only the first rel of a link counts.
    const rel = [...parameters.matchAll(parameterPattern)].find(([, name]) => name?.toLowerCase() === 'rel');
    const types = (rel?.[2] ?? rel?.[3] ?? '').toLowerCase().split(/\s+/);
    if (types.includes('next')) return target.trim();
  }
  return null;
}

/** The query of a link without its `?`, and without the parameter that carries the token. */
export function linkQuery(url: URL, parameter: string | null): string {
  const parts = url.search.slice(1).split('&');
  return parts.filter((part) => part !== '' && nameOf(part) !== parameter).join('&');
}

/** As servers read it. */
function nameOf(part: string): string | undefined {
  return [...new URLSearchParams(part).keys()][0];
}
