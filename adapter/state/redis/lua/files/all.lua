-- All files of the session. Fields that begin with # hold its totals.
--
-- needs: files/file
local function all_files(files)
  local found = {}
  local all = redis.call('HGETALL', files)
  for i = 1, #all, 2 do
    if string.sub(all[i], 1, 1) ~= '#' then found[#found + 1] = decode(all[i], all[i + 1]) end
  end
  return found
end
