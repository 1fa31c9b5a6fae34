const { test, expect } = require('@playwright/test');

test.beforeEach(({ request }) => request.delete('/items'));

test('an item can be done', async ({ request }) => {
  const { id } = await (await request.post('/items', { data: { text: 'milk' } })).json();
  await request.patch(`/items/${id}`, { data: { done: true } });
  expect(await (await request.get(`/items/${id}`)).json()).toMatchObject({ text: 'milk', done: true });
});
