import assert from 'node:assert/strict';
import { after, beforeEach, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Limiter } from '../src/limiter.js';
import { connect } from '../src/redis.js';

describe('test/limiter.test.js', () => {
  const redis = connect();
  beforeEach(() => redis.flushall());
  after(() => redis.quit());

  it('stops the third of two', async () => {
    const limiter = new Limiter(redis, 2, 60_000);
    assert.equal(await limiter.allow('ada'), true);
    await sleep(100);
    assert.equal(await limiter.allow('ada'), true);
    await sleep(100);
    assert.equal(await limiter.allow('ada'), false);
  });

  it('counts each client alone', async () => {
    const limiter = new Limiter(redis, 1, 60_000);
    assert.equal(await limiter.allow('ada'), true);
    assert.equal(await limiter.allow('bob'), true);
    await sleep(200);
    assert.equal(await limiter.allow('ada'), false);
  });

  it('opens again after the window', async () => {
    const limiter = new Limiter(redis, 1, 200);
    assert.equal(await limiter.allow('ada'), true);
    await sleep(400);
    assert.equal(await limiter.allow('ada'), true);
  });
});
