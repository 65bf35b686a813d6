-- keys: those of the ledger, the original's last success
-- returns: plannedUntil, lastCommitAt, paused, last success, first uncommitted, open, dead
local source, _, due, due_backfill, uncommitted, dead, _, original = unpack(KEYS)

local planned_until, last_commit, paused =
  unpack(redis.call('HMGET', source, 'plannedUntil', 'lastCommitAt', 'paused'))
local first = redis.call('ZRANGE', uncommitted, 0, 0, 'WITHSCORES')
return {
  planned_until, last_commit, paused, redis.call('GET', original), first[2] or false,
  redis.call('ZCARD', due) + redis.call('ZCARD', due_backfill), redis.call('ZCARD', dead),
}
