const bank = require('../src/bank');

beforeEach(() => bank.reset());

test('interest is paid on every account', () => {
  bank.open('ann', 200);
  bank.open('bob', 100);
  bank.interest(3);
  expect([bank.balance('ann'), bank.balance('bob')]).toEqual([206, 103]);
});

test('interest is rounded down', () => {
  bank.open('ann', 33);
  bank.interest(10);
  expect(bank.balance('ann')).toBe(36);
});
