const bank = require('../src/bank');

beforeEach(() => bank.reset());

test('deposits add up', () => {
  bank.open('ann', 5);
  bank.move('ann', 10, 'cash');
  bank.move('ann', 20, 'cash');
  expect(bank.balance('ann')).toBe(35);
});

test('a stranger cannot pay in', () => {
  expect(() => bank.move('bob', 1, 'cash')).toThrow('there is no bob');
});
