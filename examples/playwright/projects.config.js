const { defineConfig } = require('@playwright/test');
const base = require('./playwright.config');

// Two projects, and a set-up that both wait for: it runs in every shard and every batch.
module.exports = defineConfig({
  ...base,
  projects: [
    { name: 'setup', testMatch: 'items.setup.js' },
    { name: 'chromium', dependencies: ['setup'] },
    { name: 'firefox', dependencies: ['setup'] },
  ],
});
