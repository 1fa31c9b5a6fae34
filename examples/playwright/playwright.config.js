const { defineConfig } = require('@playwright/test');

// The tests talk to the server alone and need no browser. All of a shard's share its server, so they take turns.
module.exports = defineConfig({
  testDir: 'tests',
  workers: 1,
  use: { baseURL: 'http://127.0.0.1:4570' },
  webServer: { command: 'node src/server.js', url: 'http://127.0.0.1:4570/items' },
});
