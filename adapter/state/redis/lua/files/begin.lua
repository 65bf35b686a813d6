-- keys: those of a place, servers; arguments: name, ttl, now, maxArtifacts or '', fields and files…
-- returns: begun, no_session, taken, limit or full
-- needs: files/owner, files/all, files/change, files/note-server, MAX_SESSION_FILES
local place, servers = place_of(KEYS, ARGV), KEYS[8]
local now, max_artifacts = tonumber(ARGV[3]), tonumber(ARGV[4])

if not owner_of(place.session).active then return 'no_session' end
local artifacts = 0
for i = 5, #ARGV, 2 do
  if string.sub(ARGV[i], 1, 1) == 'a' then artifacts = artifacts + 1 end
  local there = read(place.files, ARGV[i])
  if there and there.state == 'committed' then return 'taken' end
end
local counts = redis.call('HMGET', place.files, '#ac', '#ap', '#uc', '#up')
local known = tonumber(counts[1] or 0) + tonumber(counts[2] or 0)
if max_artifacts and artifacts > 0 and known + artifacts > max_artifacts then
  for _, file in ipairs(all_files(place.files)) do
    local held = file.state == 'committed' or file.lease > now
    if file.kind == 'a' and held then artifacts = artifacts + 1 end
  end
  if artifacts > max_artifacts then return 'limit' end
end
local files = (#ARGV - 4) / 2
for _, number in ipairs(counts) do files = files + tonumber(number or 0) end
if files > MAX_SESSION_FILES then return 'full' end
for i = 5, #ARGV, 2 do write(place, decode(ARGV[i], ARGV[i + 1]), read(place.files, ARGV[i])) end
finish(place)
note_server(servers, place.name, place.ttl)
return 'begun'
