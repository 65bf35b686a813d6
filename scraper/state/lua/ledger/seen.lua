-- keys: fp_until; arguments: now, fingerprints of 32 bytes each
-- returns: a text of as many digits, 1 for those that are known
local fingerprints = KEYS[1]
local now, blob = tonumber(ARGV[1]), ARGV[2]

local found, hashes = {}, {}
local function look()
  for _, till in ipairs(redis.call('ZMSCORE', fingerprints, unpack(hashes))) do
    found[#found + 1] = till and tonumber(till) >= now and '1' or '0'
  end
  hashes = {}
end
for at = 1, #blob, 32 do
  hashes[#hashes + 1] = string.sub(blob, at, at + 31)
  if #hashes == 2000 then look() end
end
if #hashes > 0 then look() end
return table.concat(found)
