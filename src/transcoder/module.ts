import { COMPILED } from './compiled';

/** What `assembly/index.ts` exports: its comments say what it does. Addresses are bytes of `memory`. */
export interface TranscoderModule {
  readonly memory: { readonly buffer: ArrayBuffer; grow(pages: number): number };
  firstFreeByte(): number;
  beginRows(from: number, limit: number, key: number, keyBytes: number): number;
  readRows(
    plan: number,
    from: number,
    limit: number,
    table: number,
    mostRows: number,
    images: number,
    imagesEnd: number,
    fixedBytes: number,
    schemaId: number,
  ): number;
  nextRow(): number;
}

/** Part of the language's host, and of no library that is compiled against here. */
declare const WebAssembly:
  | {
      readonly Module: new (bytes: Uint8Array) => object;
      readonly Instance: new (module: object) => { readonly exports: unknown };
    }
  | undefined;

/** Null where there is no WebAssembly, or none that can run this. */
export function instantiate(): TranscoderModule | null {
  if (typeof WebAssembly === 'undefined') return null;
  try {
    const { exports } = new WebAssembly.Instance(
      new WebAssembly.Module(Buffer.from(COMPILED.code, 'base64')),
    );
    return exports as TranscoderModule;
  } catch {
    return null;
  }
}
