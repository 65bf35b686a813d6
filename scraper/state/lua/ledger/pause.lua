-- keys: those of the ledger; arguments: 0 or 1; returns: 1
-- needs: ledger/ledger
local ledger, paused = ledger_of(KEYS), ARGV[1]

redis.call('HSET', ledger.source, 'paused', paused)
wake_owner(ledger)
keep(ledger)
return 1
