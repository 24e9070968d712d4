import { HighwaterError } from '../../../errors';
import type { ConsumerLog } from '../../consumer-log';
import { groupPositions } from '../backup';
import { makeDataFolder } from '../file/data-folder';
import { lockFolder } from '../file/folder-lock';
import { attempt, closedAfter } from '../file/sqlite';
import { groupFile, openGroupOffsets } from './group-offsets';

/** @param folder of the groups @param assertOpen throws LOG_CLOSED */
export function localGroups(
  folder: string,
  assertOpen: () => void,
): Pick<ConsumerLog, 'groups' | 'moveGroup'> {
  return {
    async groups(prefix) {
      assertOpen();
      const stored = groupPositions(folder, prefix);
      return [...new Set(stored.map(([group]) => group))].map((groupId) => {
        const own = stored.filter(([group]) => group === groupId);
        const places = own.map(([, topic, partition, next, note]) => ({ topic, partition, next, note }));
        // Trying the lock would hold it for a moment, and a member that starts then would wait.
        return { groupId, members: null, places };
      });
    },
    async moveGroup(groupId, places) {
      assertOpen();
      const file = groupFile(folder, groupId);
      attempt(file, () => makeDataFolder(folder));
      const lock = lockFolder(`${file}.lock`);
      if (lock === null) throw new HighwaterError('GROUP_IN_USE', `a process reads for the group ${groupId}`);
      try {
        closedAfter(openGroupOffsets(file), (offsets) => {
          for (const { topic, partition, next } of places) offsets.commit(topic, partition, next);
        });
      } finally {
        lock.release();
      }
    },
  };
}
