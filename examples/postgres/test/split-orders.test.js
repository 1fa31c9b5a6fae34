import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { connect, count, migrate, tables } from '../src/database.js';

describe('test/split-orders.test.js', () => {
  let db;
  before(async () => { db = await connect(); });
  after(() => db.end());

  it('starts from the 100,000 orders of the setup', async () => {
    assert.equal(await count(db, 'orders'), 100_000);
    assert.deepEqual(await tables(db), ['carts', 'customers', 'orders']);
  });

  it('drops the orders and finds each in one of the halves', async () => {
    await migrate(db, 'split-orders');
    assert.deepEqual(await tables(db), ['carts', 'customers', 'open_orders', 'paid_orders']);
    assert.equal(await count(db, 'open_orders'), 10_000);
    assert.equal(await count(db, 'paid_orders'), 90_000);
  });
});
