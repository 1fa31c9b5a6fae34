import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { connect, count, migrate, tables } from '../src/database.js';

describe('test/fold-customers.test.js', () => {
  let db;
  before(async () => { db = await connect(); });
  after(() => db.end());

  it('starts from the 100,000 orders of the setup', async () => {
    assert.equal(await count(db, 'orders'), 100_000);
    assert.deepEqual(await tables(db), ['carts', 'customers', 'orders']);
  });

  it('drops the customers and keeps their names', async () => {
    await migrate(db, 'fold-customers');
    assert.deepEqual(await tables(db), ['carts', 'orders']);
    assert.equal(await count(db, 'orders'), 100_000);
    const { rows } = await db.query('SELECT customer_name FROM orders WHERE id = 41');
    assert.equal(rows[0].customer_name, 'customer 42');
  });
});
