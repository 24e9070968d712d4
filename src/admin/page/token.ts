const NAME = 'highwater-token';

/** The token of this tab, until it is closed. */
export function keptToken(): string | null {
  try {
    return sessionStorage.getItem(NAME);
  } catch {
    return null;
  }
}

export function keepToken(token: string | null): void {
  try {
    if (token === null) sessionStorage.removeItem(NAME);
    else sessionStorage.setItem(NAME, token);
  } catch {
    // Without storage it is asked for again after a reload.
  }
}
