-- id -> 1, or 0 where no such event waits
local found = call('HDEL', P .. 'scheduled', ARGV[1])
call('ZREM', P .. 'due', 's' .. ARGV[1])
return found
