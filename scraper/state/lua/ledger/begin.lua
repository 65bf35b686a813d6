-- keys: those of the ledger; arguments: token, id
-- returns: how often it was begun before without an end; -1: the token is old
-- needs: ledger/ledger
local ledger = ledger_of(KEYS)
local token, id = unpack(ARGV)

if not owns(ledger, token) then return -1 end
return redis.call('HINCRBY', ledger.source, 'begun:' .. id, 1) - 1
