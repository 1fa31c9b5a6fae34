import assert from 'node:assert/strict';
import { after, beforeEach, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from '../src/redis.js';
import { Sessions } from '../src/sessions.js';

describe('test/sessions.test.js', () => {
  const redis = connect();
  beforeEach(() => redis.flushall());
  after(() => redis.quit());

  it('knows the user again', async () => {
    const sessions = new Sessions(redis, 60_000);
    const id = await sessions.open('ada');
    await sleep(200);
    assert.equal(await sessions.user(id), 'ada');
  });

  it('ends when closed', async () => {
    const sessions = new Sessions(redis, 60_000);
    const [ada, bob] = [await sessions.open('ada'), await sessions.open('bob')];
    await sessions.close(ada);
    await sleep(200);
    assert.equal(await sessions.user(ada), null);
    assert.equal(await sessions.user(bob), 'bob');
  });

  it('ends when nobody asks for it', async () => {
    const sessions = new Sessions(redis, 100);
    const id = await sessions.open('ada');
    await sleep(300);
    assert.equal(await sessions.user(id), null);
    assert.equal(await redis.dbsize(), 0);
  });
});
