export class Cart {
  constructor(redis, customer) {
    this.redis = redis;
    this.key = `cart:${customer}`;
  }

  async add(item, count = 1) {
    await this.redis.hincrby(this.key, item, count);
  }

  async remove(item) {
    await this.redis.hdel(this.key, item);
  }

  async items() {
    const counts = await this.redis.hgetall(this.key);
    return Object.fromEntries(Object.entries(counts).map(([item, n]) => [item, Number(n)]));
  }
}
