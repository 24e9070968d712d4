import { feedState } from '../../../src/state/feed-state';
import { imageStore } from '../../../src/state/image-store';
import { firstSourceOffset } from '../../../src/state/source-offset';
import { testFeed } from '../../support/feeds';

it('no change is begun when the images have nearly all of the memory that can be addressed', async () => {
  const images = imageStore({ fd: null, slabBytes: 1024 });
  const restored = {
    offset: firstSourceOffset('ipos', 'a life', 'scope'),
    images,
    file: { keep: async () => {} },
    groups: new Map(),
    deadLetters: new Set<string>(),
    partitionCounts: [0, 0, 0],
  };
  const decoder = { decode: () => ({ id: 'a', updated: 1, values: {} }) as never };
  const state = await feedState(testFeed('analysts', { transitions: [] }), decoder, restored);
  const pending = state.begin();
  const fill = (more: number) => {
    for (let i = 0; i < more; i++) images.set(`${images.size}`, Buffer.alloc(300));
  };
  fill(130_046);
  state.begin();
  fill(1);
  const tooLarge = expect.objectContaining({
    code: 'STATE_TOO_LARGE',
    message: expect.stringContaining('Feed analysts has 130047 records'),
  });
  expect(() => state.begin()).toThrow(tooLarge);
  expect(() => pending.begin()).toThrow(tooLarge);
});
