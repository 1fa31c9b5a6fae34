const { test, expect } = require('@playwright/test');

test.beforeEach(({ request }) => request.delete('/items'));

test('an item can be renamed', async ({ request }) => {
  const { id } = await (await request.post('/items', { data: { text: 'mlik' } })).json();
  await request.patch(`/items/${id}`, { data: { text: 'milk' } });
  expect(await (await request.get('/items')).json()).toHaveLength(1);
  expect(await (await request.get(`/items/${id}`)).json()).toMatchObject({ text: 'milk' });
});
