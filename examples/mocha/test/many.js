const assert = require('assert');
const queue = require('../src/queue');

describe('many jobs', () => {
  beforeEach(() => queue.clear());

  it('keep their order beyond ten', () => {
    for (let i = 0; i < 12; i++) queue.push(i);
    const all = [];
    while (queue.size()) all.push(queue.pop());
    assert.deepEqual(all, [...Array(12).keys()]);
  });
});
