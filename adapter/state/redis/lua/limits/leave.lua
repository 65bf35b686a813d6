-- keys: places…; arguments: id, calls…
-- needs: limits/leave-places
local id = ARGV[1]

leave_places(KEYS, 1, ARGV, 2, id)
