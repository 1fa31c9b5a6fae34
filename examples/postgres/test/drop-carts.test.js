import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { connect, count, migrate, tables } from '../src/database.js';

describe('test/drop-carts.test.js', () => {
  let db;
  before(async () => { db = await connect(); });
  after(() => db.end());

  it('starts from the 100,000 orders of the setup', async () => {
    assert.equal(await count(db, 'orders'), 100_000);
    assert.deepEqual(await tables(db), ['carts', 'customers', 'orders']);
  });

  it('drops the carts and no order', async () => {
    await migrate(db, 'drop-carts');
    assert.deepEqual(await tables(db), ['customers', 'orders']);
    assert.equal(await count(db, 'orders'), 100_000);
  });
});
