-- keys: those of a place
-- arguments: name, ttl, field, bytes, now, leaseUntil, maxTotal or '', maxSession or '', kind that goes first
-- returns: gone, session, storage, or fields and files that were evicted…
-- needs: files/owner, files/all, files/change
local place = place_of(KEYS, ARGV)
local field, bytes, now, lease_until = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local max_total, max_session, first_kind = tonumber(ARGV[7]), tonumber(ARGV[8]), ARGV[9]

local is_active = owner_of(place.session).active
local file = read(place.files, field)
if not is_active or not file or file.state ~= 'pending' then return 'gone' end
local growth = bytes - file.size

local evicted, free = {}, 0
local excess = max_session and growth > 0 and bytes_of(place.files, '#') + growth - max_session or 0
if excess > 0 then
  local candidates = {}
  for _, other in ipairs(all_files(place.files)) do
    if other.state == 'committed' and other.lease <= now and other.size > 0 then
      candidates[#candidates + 1] = other
    end
  end
  -- Within a name the quotes would be escaped.
  local function spilled(file) return string.find(file.rest, '"spilled":true', 1, true) ~= nil end
  table.sort(candidates, function(a, b)
    if spilled(a) ~= spilled(b) then return spilled(a) end
    if a.kind ~= b.kind then return a.kind == first_kind end
    if a.used ~= b.used then return a.used < b.used end
    if a.created ~= b.created then return a.created < b.created end
    return a.field < b.field
  end)
  for _, other in ipairs(candidates) do
    if free >= excess then break end
    evicted[#evicted + 1] = other
    free = free + other.size
  end
  if free < excess then return 'session' end
end
if max_total and growth > 0 and bytes_of(place.totals, '') - free + growth > max_total then return 'storage' end

local removed = {}
for _, other in ipairs(evicted) do remove(place, other, removed) end
write(place, {
  field = file.field, kind = file.kind, state = file.state, size = bytes, used = file.used,
  lease = math.max(file.lease, lease_until), uses = file.uses, created = file.created, rest = file.rest,
}, file)
finish(place)
return removed
