const { test, expect } = require('@playwright/test');

test.beforeEach(({ request }) => request.delete('/items'));

test('one item can be removed', async ({ request }) => {
  const first = await (await request.post('/items', { data: { text: 'milk' } })).json();
  await request.post('/items', { data: { text: 'bread' } });
  await request.delete(`/items/${first.id}`);
  const items = await (await request.get('/items')).json();
  expect(items.map((i) => i.text)).toEqual(['bread']);
});

test('a removed item is gone', async ({ request }) => {
  const { id } = await (await request.post('/items', { data: { text: 'milk' } })).json();
  await request.delete(`/items/${id}`);
  expect((await request.get(`/items/${id}`)).status()).toBe(404);
});
