import { randomUUID } from 'node:crypto';

export class Sessions {
  constructor(redis, lifetimeMs) {
    this.redis = redis;
    this.lifetimeMs = lifetimeMs;
  }

  async open(user) {
    const id = randomUUID();
    await this.redis.set(`session:${id}`, user, 'PX', this.lifetimeMs);
    return id;
  }

  // The user of the session, or null if it is over. Asking makes it last longer.
  async user(id) {
    return this.redis.getex(`session:${id}`, 'PX', this.lifetimeMs);
  }

  async close(id) {
    await this.redis.del(`session:${id}`);
  }
}
