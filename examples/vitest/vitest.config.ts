import { defineConfig } from 'vitest/config';

// The files share port 4560, so those of one shard take turns.
export default defineConfig({ test: { fileParallelism: false } });
