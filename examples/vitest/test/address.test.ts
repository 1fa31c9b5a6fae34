import { expect, test } from 'vitest';
import { codeOf, Links } from '../src/links';

test.each(['ftp://example.com', 'example.com', ''])('%j is no address', (url) => {
  expect(() => new Links().add(url)).toThrow('is no address');
});

test('codes are short', () => {
  expect(codeOf('https://example.com/' + 'a'.repeat(500)).length).toBeLessThan(8);
});
