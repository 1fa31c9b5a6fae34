const fs = require('fs');

// One file for all accounts, at a fixed place: whoever opens it first wins.
const FILE = '/var/tmp/jest-example-bank.json';

function read() {
  return fs.existsSync(FILE) ? JSON.parse(fs.readFileSync(FILE, 'utf8')) : {};
}

function write(accounts) {
  fs.writeFileSync(FILE, JSON.stringify(accounts));
}

function reset() {
  write({});
}

function open(name, balance = 0) {
  const accounts = read();
  if (name in accounts) throw new Error(`${name} is there already`);
  write({ ...accounts, [name]: { balance, moves: [] } });
}

function move(name, amount, text) {
  const accounts = read();
  const account = accounts[name];
  if (!account) throw new Error(`there is no ${name}`);
  if (account.balance + amount < 0) throw new Error(`${name} has only ${account.balance}`);
  account.balance += amount;
  account.moves.push({ amount, text });
  write(accounts);
}

function transfer(from, to, amount) {
  move(from, -amount, `to ${to}`);
  move(to, amount, `from ${from}`);
}

function balance(name) {
  return read()[name]?.balance;
}

function total() {
  return Object.values(read()).reduce((sum, a) => sum + a.balance, 0);
}

function interest(percent) {
  for (const [name, account] of Object.entries(read())) {
    move(name, Math.floor((account.balance * percent) / 100), 'interest');
  }
}

function statement(name) {
  return read()[name].moves.map((m) => `${m.amount > 0 ? '+' : ''}${m.amount} ${m.text}`);
}

module.exports = { reset, open, move, transfer, balance, total, interest, statement };
