import assert from 'node:assert/strict';
import { after, beforeEach, describe, it } from 'node:test';
import { Cart } from '../src/cart.js';
import { connect } from '../src/redis.js';

describe('test/cart.test.js', () => {
  const redis = connect();
  const cart = new Cart(redis, 'ada');
  beforeEach(() => redis.flushall());
  after(() => redis.quit());

  it('is empty at first', async () => {
    assert.deepEqual(await cart.items(), {});
    assert.equal(await redis.dbsize(), 0);
  });

  it('counts what is added', async () => {
    for (let i = 0; i < 100; i++) await cart.add('tea');
    await cart.add('jam', 3);
    assert.deepEqual(await cart.items(), { tea: 100, jam: 3 });
  });

  it('forgets what is removed', async () => {
    await cart.add('tea');
    await cart.add('jam');
    await cart.remove('tea');
    assert.deepEqual(await cart.items(), { jam: 1 });
  });
});
