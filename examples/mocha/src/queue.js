const fs = require('fs');
const path = require('path');

// A queue of jobs, one file each, in one fixed folder.
const FOLDER = '/var/tmp/mocha-example-queue';

exports.clear = () => {
  fs.rmSync(FOLDER, { recursive: true, force: true });
  fs.mkdirSync(FOLDER, { recursive: true });
};

exports.push = (job) => {
  const number = exports.size() ? Number(names().at(-1)) + 1 : 1;
  fs.writeFileSync(path.join(FOLDER, String(number).padStart(6, '0')), JSON.stringify(job));
};

exports.pop = () => {
  const [first] = names();
  if (!first) return undefined;
  const file = path.join(FOLDER, first);
  const job = JSON.parse(fs.readFileSync(file, 'utf8'));
  fs.unlinkSync(file);
  return job;
};

exports.size = () => names().length;

function names() {
  return fs.readdirSync(FOLDER).sort();
}
