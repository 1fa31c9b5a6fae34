import assert from 'node:assert/strict';
import { after, beforeEach, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Queue } from '../src/queue.js';
import { connect } from '../src/redis.js';

describe('test/queue.test.js', () => {
  const redis = connect();
  const queue = new Queue(redis, 'mail');
  beforeEach(() => redis.flushall());
  after(() => redis.quit());

  it('hands out the oldest first', async () => {
    await queue.put('a', 'b');
    await queue.put('c');
    await sleep(200);
    assert.deepEqual([await queue.next(), await queue.next(), await queue.next()], ['a', 'b', 'c']);
  });

  it('has nothing when it is empty', async () => {
    await sleep(200);
    assert.equal(await queue.next(), null);
    assert.equal(await redis.dbsize(), 0);
  });

  it('knows what is started until it is done', async () => {
    await queue.put('a', 'b');
    const job = await queue.next();
    await sleep(200);
    assert.deepEqual(await queue.lengths(), { waiting: 1, started: 1 });
    await queue.done(job);
    assert.deepEqual(await queue.lengths(), { waiting: 1, started: 0 });
  });
});
