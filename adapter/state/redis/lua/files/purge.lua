-- What a scan has come past is removed at once, so one that has come to its end has left nothing, wherever the hash was
-- rebuilt meanwhile.
--
-- keys: those of a place; arguments: name, ttl, 1 to do so only if the session is gone
-- returns: 1 if there may be more, else 0, then fields and files that were removed…; 0 alone if Redis has forgotten the
--   session's files and the totals are wrong
-- needs: files/owner, files/change, PURGED_AT_ONCE
local place, only_if_gone = place_of(KEYS, ARGV), ARGV[3]

if redis.call('EXISTS', place.files) == 0 then
  return redis.call('ZREM', place.sessions, place.name) == 1 and 0 or { 0 }
end
if only_if_gone == '1' and owner_of(place.session).alive then return { 0 } end
local removed = {}
local cursor = '0'
repeat
  local page = redis.call('HSCAN', place.files, cursor, 'COUNT', PURGED_AT_ONCE / 10)
  cursor = page[1]
  for i = 1, #page[2], 2 do
    local field, value = page[2][i], page[2][i + 1]
    if string.sub(field, 1, 1) ~= '#' then remove(place, decode(field, value), removed) end
  end
until cursor == '0' or #removed >= 2 * PURGED_AT_ONCE
finish(place)
table.insert(removed, 1, cursor == '0' and 0 or 1)
return removed
