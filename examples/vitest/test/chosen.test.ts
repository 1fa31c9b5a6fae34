import { afterEach, beforeEach, expect, test } from 'vitest';
import { Links, visit } from '../src/links';

let links: Links;
beforeEach(async () => {
  links = new Links();
  await links.listen();
});
afterEach(() => links.close());

test('a code can be chosen', async () => {
  links.add('https://example.com/a', 'mine');
  expect((await visit('mine')).status).toBe(302);
});

test('a chosen code is given once', () => {
  links.add('https://example.com/a', 'mine');
  expect(() => links.add('https://example.com/b', 'mine')).toThrow('mine is taken');
});
