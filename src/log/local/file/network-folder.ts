import { statfsSync } from 'node:fs';

/** By the number that Linux gives to each kind of file system. */
const networks: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xff534d42, 'CIFS'],
  [0xfe534d42, 'SMB'],
  [0x01021997, '9P'],
  [0x00c36400, 'Ceph'],
  [0x5346414f, 'AFS'],
  [0x0bd00bd0, 'Lustre'],
  [0x47504653, 'GPFS'],
]);

/**
 * SQLite's write-ahead log needs memory that all its processes share, and locks that hold. Neither goes over a network.
 * @returns the kind of network file system that an existing folder is on; null for a local or an unknown one
 */
export function networkOf(folder: string): string | null {
  return process.platform === 'linux' ? networkNamed(statfsSync(folder).type) : null;
}

/** @param type as `statfs` gives it; its upper bits may be a sign */
export function networkNamed(type: number): string | null {
  return networks.get(type >>> 0) ?? null;
}
