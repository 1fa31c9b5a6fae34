import { afterEach, beforeEach, expect, test } from 'vitest';
import { Links, visit } from '../src/links';

let links: Links;
beforeEach(async () => {
  links = new Links();
  await links.listen();
});
afterEach(() => links.close());

test('visits are counted', async () => {
  const code = links.add('https://example.com/a');
  for (let i = 0; i < 5; i++) await visit(code);
  expect(links.hits(code)).toBe(5);
});

test('another link is not counted along', async () => {
  const [a, b] = [links.add('https://example.com/a'), links.add('https://example.com/b')];
  await visit(a);
  expect(links.hits(b)).toBe(0);
});
