import assert from 'node:assert/strict';
import { after, beforeEach, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Lock } from '../src/lock.js';
import { connect } from '../src/redis.js';

describe('test/lock.test.js', () => {
  const redis = connect();
  beforeEach(() => redis.flushall());
  after(() => redis.quit());

  it('has one holder', async () => {
    const [mine, theirs] = [new Lock(redis, 'door', 60_000), new Lock(redis, 'door', 60_000)];
    assert.equal(await mine.take(), true);
    await sleep(200);
    assert.equal(await theirs.take(), false);
  });

  it('can be taken again once given back', async () => {
    const [mine, theirs] = [new Lock(redis, 'door', 60_000), new Lock(redis, 'door', 60_000)];
    await mine.take();
    await sleep(200);
    assert.equal(await mine.give(), true);
    assert.equal(await theirs.take(), true);
  });

  it('is not given back by one who lost it', async () => {
    const [mine, theirs] = [new Lock(redis, 'door', 100), new Lock(redis, 'door', 60_000)];
    await mine.take();
    await sleep(300);
    assert.equal(await theirs.take(), true);
    assert.equal(await mine.give(), false);
    assert.equal(await redis.exists('lock:door'), 1);
  });
});
