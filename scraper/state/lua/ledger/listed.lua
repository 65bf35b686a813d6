-- Adds windows to `found`: id, window, id, window, …
local function add_windows(found, windows, ids)
  for _, id in ipairs(ids) do
    found[#found + 1] = id
    found[#found + 1] = redis.call('HGET', windows, id)
  end
end
