import Redis from 'ioredis';

// One port, written down: every shard uses it, each with a server of its own behind it.
export const connect = () => new Redis(6379, '127.0.0.1', { maxRetriesPerRequest: 1 });
