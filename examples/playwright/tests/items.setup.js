const { test, expect } = require('@playwright/test');

test('the list can be read', async ({ request }) => {
  expect((await request.get('/items')).status()).toBe(200);
});
