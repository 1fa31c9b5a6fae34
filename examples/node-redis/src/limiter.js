export class Limiter {
  constructor(redis, limit, windowMs) {
    this.redis = redis;
    this.limit = limit;
    this.windowMs = windowMs;
  }

  // Whether the client may do one thing more in the window that its first one opened.
  async allow(client) {
    const key = `limit:${client}`;
    const [, [, count]] = await this.redis.multi().set(key, 0, 'PX', this.windowMs, 'NX').incr(key).exec();
    return count <= this.limit;
  }
}
