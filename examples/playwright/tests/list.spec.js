const { test, expect } = require('@playwright/test');

test.beforeEach(({ request }) => request.delete('/items'));

test('the list starts empty', async ({ request }) => {
  expect(await (await request.get('/items')).json()).toEqual([]);
});

test('the list keeps its order', async ({ request }) => {
  for (const text of ['one', 'two', 'three']) await request.post('/items', { data: { text } });
  const items = await (await request.get('/items')).json();
  expect(items.map((i) => i.text)).toEqual(['one', 'two', 'three']);
});
