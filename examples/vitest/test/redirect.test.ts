import { afterEach, beforeEach, expect, test } from 'vitest';
import { Links, visit } from '../src/links';

let links: Links;
beforeEach(async () => {
  links = new Links();
  await links.listen();
});
afterEach(() => links.close());

test('a short link leads to its address', async () => {
  const response = await visit(links.add('https://example.com/a'));
  expect(response.status).toBe(302);
  expect(response.location).toBe('https://example.com/a');
});

test('two links lead to two addresses', async () => {
  const codes = ['https://example.com/a', 'https://example.com/b'].map((url) => links.add(url));
  const places = await Promise.all(codes.map(async (c) => (await visit(c)).location));
  expect(places).toEqual(['https://example.com/a', 'https://example.com/b']);
});
