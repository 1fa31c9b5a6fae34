import { randomUUID } from 'node:crypto';

export class Lock {
  constructor(redis, name, lifetimeMs) {
    this.redis = redis;
    this.key = `lock:${name}`;
    this.lifetimeMs = lifetimeMs;
    this.token = randomUUID();
  }

  async take() {
    return (await this.redis.set(this.key, this.token, 'PX', this.lifetimeMs, 'NX')) === 'OK';
  }

  // Gives back only what this holder took: the lock may have run out and be another's by now.
  async give() {
    const script = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end";
    return (await this.redis.eval(script, 1, this.key, this.token)) === 1;
  }
}
