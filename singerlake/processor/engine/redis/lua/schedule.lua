-- key, id, "delay" | "at", ms, ttl ms, tail -> 1, or 0 where an event of this id waits already
local key, id, tail = ARGV[1], ARGV[2], ARGV[6]
local due = ARGV[3] == 'at' and tonumber(ARGV[4]) or now + tonumber(ARGV[4])
if call('EXISTS', P .. 'id:' .. id) == 1 then return 0 end
if call('HSETNX', P .. 'scheduled', id, #key .. '|' .. ARGV[5] .. '|' .. key .. tail) == 0 then return 0 end
call('ZADD', P .. 'due', due, 's' .. id)
wake() -- who waits for a later moment waits for this one instead
return 1
