const { test, expect } = require('@playwright/test');

test.beforeEach(({ request }) => request.delete('/items'));

test('an added item is not done', async ({ request }) => {
  const response = await request.post('/items', { data: { text: 'milk' } });
  expect(response.status()).toBe(201);
  expect(await response.json()).toMatchObject({ text: 'milk', done: false });
});

test('an item needs a text', async ({ request }) => {
  expect((await request.post('/items', { data: {} })).status()).toBe(400);
});
