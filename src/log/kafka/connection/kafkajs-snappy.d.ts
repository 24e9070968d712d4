declare module 'kafkajs-snappy' {
  /** As kafkajs takes a codec: its own types leave the two functions open. */
  const SnappyCodec: () => {
    compress(encoder: { readonly buffer: Buffer }): Promise<Buffer>;
    decompress(bytes: Buffer): Promise<Buffer>;
  };
  export = SnappyCodec;
}
