const assert = require('assert');
const queue = require('../src/queue');

describe('clearing', () => {
  it('takes all jobs', () => {
    queue.clear();
    queue.push('a');
    queue.clear();
    assert.equal(queue.size(), 0);
  });

  it('can be done twice', () => {
    queue.clear();
    queue.clear();
    assert.equal(queue.size(), 0);
  });
});
