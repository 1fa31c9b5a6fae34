export class Leaderboard {
  constructor(redis, game) {
    this.redis = redis;
    this.key = `leaderboard:${game}`;
  }

  // Keeps the player's best score.
  async score(player, points) {
    await this.redis.zadd(this.key, 'GT', points, player);
  }

  async top(count) {
    return this.redis.zrevrange(this.key, 0, count - 1);
  }

  // 1 for the best player, null for somebody who never played.
  async place(player) {
    const rank = await this.redis.zrevrank(this.key, player);
    return rank === null ? null : rank + 1;
  }
}
