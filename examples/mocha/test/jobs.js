const assert = require('assert');
const queue = require('../src/queue');

describe('a job', () => {
  beforeEach(() => queue.clear());

  for (const job of [{ to: 'ann', text: 'hi' }, [1, 2], 'text', 0, null]) {
    it(`comes out as it went in: ${JSON.stringify(job)}`, () => {
      queue.push(job);
      assert.deepEqual(queue.pop(), job);
    });
  }
});
