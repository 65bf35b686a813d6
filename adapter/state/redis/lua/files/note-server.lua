-- Notes the server of the session `name` in the set `servers`, so that a session's id is enough to find it. `ttl` is
-- that of files. The set lives as long as any session or file that it leads to, so it is never cut short.
local function note_server(servers, name, ttl)
  redis.call('SADD', servers, string.match(name, '^[^:]*'))
  if redis.call('PTTL', servers) < tonumber(ttl) then redis.call('PEXPIRE', servers, ttl) end
end
