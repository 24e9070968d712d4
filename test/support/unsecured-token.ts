/** A token that brokers of `tools/servers` take: a JSON Web Token without a signature. @param livesS may be negative */
export function unsecuredToken(livesS: number): string {
  const now = Date.now() / 1_000;
  const claims = { sub: 'highwater', iat: now, exp: now + livesS, jti: Math.random() };
  const parts = [{ alg: 'none' }, claims].map((part) =>
    Buffer.from(JSON.stringify(part)).toString('base64url'),
  );
  return `${parts.join('.')}.`;
}
