import { spawnSync } from 'node:child_process';

const apart = ['--mount', '--map-root-user'];

/** Whether this machine lets a test have a disk of its own: Linux, where any user may mount a file system for a process. */
export const hasSmallDisks =
  spawnSync('unshare', [...apart, 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt'], { stdio: 'ignore' }).status === 0;

if (!hasSmallDisks)
  process.stderr.write(
    'NOT RUN: tests of a full disk, since this machine lets nobody mount one (unshare --mount)\n',
  );

/**
 * A command line under which a process finds a disk of its own at a folder, and what the folder held on it.
 * @param script what a shell does there before the process begins; `$disk` is the folder
 */
export function onSmallDisk(folder: string, megabytes: number, script = ':'): readonly string[] {
  const before = [
    `cp -a "$disk" "$disk.held"`,
    `mount -t tmpfs -o size=${megabytes}m tmpfs "$disk"`,
    `cp -a "$disk.held/." "$disk"`,
    script,
    'exec "$@"',
  ];
  return ['unshare', ...apart, 'sh', '-ec', `disk=$0; ${before.join('; ')}`, folder];
}

/** Leaves no room on the disk. */
export const fillDisk = 'dd if=/dev/zero of="$disk/filling" bs=4k 2>/dev/null || true';
