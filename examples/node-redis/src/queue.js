export class Queue {
  constructor(redis, name) {
    this.redis = redis;
    this.waiting = `queue:${name}:waiting`;
    this.started = `queue:${name}:started`;
  }

  async put(...jobs) {
    await this.redis.lpush(this.waiting, ...jobs);
  }

  // The oldest job, or null. It counts as started until done(job).
  async next() {
    return this.redis.lmove(this.waiting, this.started, 'RIGHT', 'LEFT');
  }

  async done(job) {
    await this.redis.lrem(this.started, 1, job);
  }

  async lengths() {
    return { waiting: await this.redis.llen(this.waiting), started: await this.redis.llen(this.started) };
  }
}
