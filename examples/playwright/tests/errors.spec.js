const { test, expect } = require('@playwright/test');

test.beforeEach(({ request }) => request.delete('/items'));

test('an item that is not there is told', async ({ request }) => {
  const response = await request.get('/items/0');
  expect(response.status()).toBe(404);
  expect(await response.json()).toEqual({ error: 'no such item' });
});

test('other methods are refused', async ({ request }) => {
  expect((await request.put('/items', { data: {} })).status()).toBe(405);
});
