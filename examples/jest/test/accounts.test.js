const bank = require('../src/bank');

beforeEach(() => bank.reset());

test('a new account is empty', () => {
  bank.open('ann');
  expect(bank.balance('ann')).toBe(0);
});

test('a name is given once', () => {
  bank.open('ann');
  expect(() => bank.open('ann')).toThrow('ann is there already');
});

test('a stranger has no balance', () => {
  expect(bank.balance('bob')).toBeUndefined();
});
