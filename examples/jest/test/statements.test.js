const bank = require('../src/bank');

beforeEach(() => bank.reset());

test('a statement lists the moves in order', () => {
  bank.open('ann');
  bank.open('bob');
  bank.move('ann', 10, 'cash');
  bank.transfer('ann', 'bob', 4);
  expect(bank.statement('ann')).toEqual(['+10 cash', '-4 to bob']);
  expect(bank.statement('bob')).toEqual(['+4 from ann']);
});
