-- A file: a field of the hash of its session's files, as redis-file.ts writes it.
local function decode(field, value)
  local state, size, used, lease, uses, created, rest =
    string.match(value, '^(%S+) (%S+) (%S+) (%S+) (%S+) (%S+)(.*)$')
  return {
    field = field, kind = string.sub(field, 1, 1), state = state, size = tonumber(size), used = tonumber(used),
    lease = tonumber(lease), uses = tonumber(uses), created = tonumber(created), rest = rest,
  }
end

local function encode(file)
  return string.format('%s %.0f %.0f %.0f %.0f %.0f', file.state, file.size, file.used, file.lease, file.uses,
    file.created) .. file.rest
end

local function read(files, field)
  local value = redis.call('HGET', files, field)
  return value and decode(field, value)
end
