const assert = require('assert');
const queue = require('../src/queue');

describe('the size', () => {
  beforeEach(() => queue.clear());

  it('grows and shrinks', () => {
    for (let i = 0; i < 20; i++) queue.push(i);
    for (let i = 0; i < 5; i++) queue.pop();
    assert.equal(queue.size(), 15);
  });
});
