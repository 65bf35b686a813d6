-- The keys of a source's ledger, in the order of `RedisKeys.ledger`, by their names, and what the steps do with them.
-- Times are milliseconds since the epoch. A window is one text: kind, state, may repeat (0 or 1), attempts, start, end,
-- at, and the error, with blanks between.
--
-- needs: SOURCE_KEPT_MS, MOMENT
local LEDGER_KEYS = 7

local function ledger_of(keys)
  local source, windows, due, due_backfill, uncommitted, dead, committed = unpack(keys, 1, LEDGER_KEYS)
  return {
    source = source, windows = windows, due = due, due_backfill = due_backfill, uncommitted = uncommitted, dead = dead,
    committed = committed, all = { unpack(keys, 1, LEDGER_KEYS) },
  }
end

local function read(ledger, id)
  local text = redis.call('HGET', ledger.windows, id)
  if not text then return nil end
  local window = {}
  window.kind, window.state, window.may, window.attempts, window.start, window.stop, window.at, window.error =
    string.match(text, '^(%a+) (%a+) (%d) (%d+) (%-?%d+) (%-?%d+) (%-?%d+) (.*)$')
  return window
end

local function put(ledger, id, window)
  local text = table.concat({
    window.kind, window.state, window.may, window.attempts, window.start, window.stop, window.at, window.error,
  }, ' ')
  redis.call('HSET', ledger.windows, id, text)
  local function index(key, is_in, score)
    if is_in then redis.call('ZADD', key, score, id) else redis.call('ZREM', key, id) end
  end
  local due = window.kind == 'scheduled' and ledger.due or ledger.due_backfill
  index(due, window.state ~= 'committed' and window.state ~= 'dead', window.at)
  if window.kind == 'scheduled' then index(ledger.uncommitted, window.state ~= 'committed', window.start) end
  index(ledger.dead, window.state == 'dead', window.start)
  index(ledger.committed, window.state == 'committed', window.at)
end

local function drop(ledger, id)
  redis.call('HDEL', ledger.windows, id)
  for i = 3, LEDGER_KEYS do redis.call('ZREM', ledger.all[i], id) end
end

local function open(ledger, kind, start, stop, at, may)
  local id = kind .. ':' .. start .. '-' .. stop
  local window = read(ledger, id)
  if window and window.state ~= 'committed' then return 0 end
  window = { kind = kind, state = 'open', may = may, attempts = '0', start = start, stop = stop, at = at, error = '' }
  put(ledger, id, window)
  return 1
end

local function ended(ledger, id)
  redis.call('HDEL', ledger.source, 'begun:' .. id, 'begun:' .. MOMENT)
end

local function keep(ledger)
  for _, key in ipairs(ledger.all) do redis.call('PEXPIRE', key, SOURCE_KEPT_MS) end
end

local function wake_owner(ledger)
  redis.call('HINCRBY', ledger.source, 'asked', 1)
end

local function owns(ledger, token)
  return redis.call('HGET', ledger.source, 'token') == token
end

-- The window with this id if it is open, for who has the token.
local function open_window(ledger, token, id)
  local window = owns(ledger, token) and read(ledger, id)
  return window and window.state ~= 'committed' and window.state ~= 'dead' and window or nil
end
