declare module 'proxy-from-env' {
  /** @returns the address of the proxy as the environment has it; empty: there is none for this address */
  export function getProxyForUrl(url: string): string;
}
