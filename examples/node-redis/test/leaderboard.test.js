import assert from 'node:assert/strict';
import { after, beforeEach, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Leaderboard } from '../src/leaderboard.js';
import { connect } from '../src/redis.js';

describe('test/leaderboard.test.js', () => {
  const redis = connect();
  const board = new Leaderboard(redis, 'chess');
  beforeEach(async () => {
    await redis.flushall();
    await board.score('ada', 30);
    await board.score('bob', 10);
    await board.score('eve', 20);
    await sleep(200);
  });
  after(() => redis.quit());

  it('puts the best first', async () => {
    assert.deepEqual(await board.top(2), ['ada', 'eve']);
  });

  it('keeps a better score only', async () => {
    await board.score('ada', 5);
    await board.score('bob', 40);
    assert.deepEqual(await board.top(3), ['bob', 'ada', 'eve']);
  });

  it('tells the place of each', async () => {
    assert.equal(await board.place('bob'), 3);
    assert.equal(await board.place('dan'), null);
  });
});
