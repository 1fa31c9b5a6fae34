const assert = require('assert');
const queue = require('../src/queue');

describe('an empty queue', () => {
  beforeEach(() => queue.clear());

  it('has no jobs', () => assert.equal(queue.size(), 0));
  it('gives none', () => assert.equal(queue.pop(), undefined));
});
