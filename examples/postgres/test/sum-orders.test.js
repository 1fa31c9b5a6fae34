import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { connect, count, migrate, tables } from '../src/database.js';

describe('test/sum-orders.test.js', () => {
  let db;
  before(async () => { db = await connect(); });
  after(() => db.end());

  it('starts from the 100,000 orders of the setup', async () => {
    assert.equal(await count(db, 'orders'), 100_000);
    assert.deepEqual(await tables(db), ['carts', 'customers', 'orders']);
  });

  it('drops the orders and loses no cent', async () => {
    const owed = await db.query('SELECT sum(cents) FROM orders');
    await migrate(db, 'sum-orders');
    assert.deepEqual(await tables(db), ['carts', 'customers', 'sales']);
    assert.equal(await count(db, 'sales'), 1_000);
    const sales = await db.query('SELECT sum(cents) FROM sales');
    assert.equal(sales.rows[0].sum, owed.rows[0].sum);
  });
});
