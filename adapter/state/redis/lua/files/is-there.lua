-- Whether the file can be found: committed, and in use or not yet expired. `ttl` may be ''.
local function is_there(file, now, ttl)
  return file and file.state == 'committed'
    and (ttl == '' or file.used + tonumber(ttl) > tonumber(now) or file.lease > tonumber(now))
end
