-- id, producer, request -> 1, or 0 where no such event waits
if was_done(ARGV[2], ARGV[3]) then return 1 end
local found = call('HDEL', P .. 'scheduled', ARGV[1])
call('ZREM', P .. 'due', 's' .. ARGV[1])
if found == 1 then note_done(ARGV[2], ARGV[3]) end
return found
