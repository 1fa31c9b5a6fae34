import { afterEach, beforeEach, expect, test } from 'vitest';
import { Links, visit } from '../src/links';

let links: Links;
beforeEach(async () => {
  links = new Links();
  await links.listen();
});
afterEach(() => links.close());

test('the same address gets the same code', () => {
  expect(links.add('https://example.com/a')).toBe(links.add('https://example.com/a'));
});

test('adding it again keeps the count', async () => {
  const code = links.add('https://example.com/a');
  await visit(code);
  links.add('https://example.com/a');
  expect(links.hits(code)).toBe(1);
});
