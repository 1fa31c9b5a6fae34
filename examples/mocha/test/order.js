const assert = require('assert');
const queue = require('../src/queue');

describe('the order', () => {
  beforeEach(() => queue.clear());

  it('is first in, first out', () => {
    ['a', 'b', 'c'].forEach(queue.push);
    assert.deepEqual([queue.pop(), queue.pop(), queue.pop()], ['a', 'b', 'c']);
  });

  it('survives a pop in between', () => {
    ['a', 'b'].forEach(queue.push);
    queue.pop();
    queue.push('c');
    assert.deepEqual([queue.pop(), queue.pop()], ['b', 'c']);
  });
});
