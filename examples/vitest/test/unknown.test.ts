import { afterEach, beforeEach, expect, test } from 'vitest';
import { Links, visit } from '../src/links';

let links: Links;
beforeEach(async () => {
  links = new Links();
  await links.listen();
});
afterEach(() => links.close());

test('an unknown code leads nowhere', async () => {
  const response = await visit('nothing');
  expect(response.status).toBe(404);
  expect(response.text).toBe('no such link');
});

test('the front page is no link', async () => {
  expect((await visit('')).status).toBe(404);
});
