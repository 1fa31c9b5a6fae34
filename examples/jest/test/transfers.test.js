const bank = require('../src/bank');

beforeEach(() => bank.reset());

test('a transfer keeps the total', () => {
  bank.open('ann', 50);
  bank.open('bob', 7);
  bank.transfer('ann', 'bob', 20);
  expect([bank.balance('ann'), bank.balance('bob'), bank.total()]).toEqual([30, 27, 57]);
});

test('a transfer that cannot be paid moves nothing', () => {
  bank.open('ann', 5);
  bank.open('bob');
  expect(() => bank.transfer('ann', 'bob', 6)).toThrow();
  expect(bank.total()).toBe(5);
});
