-- `write`, `drop` and `remove` one file each, then `finish` once.
--
-- needs: files/place, files/file
local function bytes_of(key, prefix)
  local uploads, artifacts = unpack(redis.call('HMGET', key, prefix .. 'ub', prefix .. 'ab'))
  return tonumber(uploads or 0) + tonumber(artifacts or 0)
end

local function index_of(place, file)
  if file.state == 'pending' then return place.pending end
  return file.kind == 'u' and place.uploads or place.artifacts
end

local function member_of(place, field)
  return place.name .. '\n' .. field
end

local function add(place, field, number)
  if number == 0 then return end
  redis.call('HINCRBY', place.files, '#' .. field, number)
  redis.call('HINCRBY', place.totals, field, number)
end

local function count(place, file, sign)
  add(place, file.kind .. (file.state == 'pending' and 'p' or 'c'), sign)
  add(place, file.kind .. 'b', sign * file.size)
end

-- `before`: what is there; nil or false for a new file.
local function write(place, file, before)
  local member = member_of(place, file.field)
  local index = index_of(place, file)
  redis.call('HSET', place.files, file.field, encode(file))
  if before and index_of(place, before) ~= index then redis.call('ZREM', index_of(place, before), member) end
  redis.call('ZADD', index, file.state == 'pending' and file.lease or file.used, member)
  if not before then
    count(place, file, 1)
  elseif before.state ~= file.state or before.size ~= file.size then
    count(place, before, -1)
    count(place, file, 1)
  end
end

local function drop(place, file)
  redis.call('HDEL', place.files, file.field)
  redis.call('ZREM', index_of(place, file), member_of(place, file.field))
  count(place, file, -1)
end

-- Drops the file and adds it to `removed`: field, file, field, file…
local function remove(place, file, removed)
  drop(place, file)
  removed[#removed + 1] = file.field
  removed[#removed + 1] = encode(file)
end

local function finish(place)
  local files = 0
  for _, number in ipairs(redis.call('HMGET', place.files, '#uc', '#up', '#ac', '#ap')) do
    files = files + tonumber(number or 0)
  end
  if files > 0 then
    redis.call('ZADD', place.sessions, bytes_of(place.files, '#'), place.name)
  else
    redis.call('DEL', place.files)
    redis.call('ZREM', place.sessions, place.name)
  end
  keep(place)
end
