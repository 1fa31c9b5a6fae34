const bank = require('../src/bank');

beforeEach(() => bank.reset());

test('nobody draws more than there is', () => {
  bank.open('ann', 5);
  expect(() => bank.move('ann', -6, 'cash')).toThrow('ann has only 5');
  expect(bank.balance('ann')).toBe(5);
});

test('the last coin can be drawn', () => {
  bank.open('ann', 5);
  bank.move('ann', -5, 'cash');
  expect(bank.balance('ann')).toBe(0);
});
