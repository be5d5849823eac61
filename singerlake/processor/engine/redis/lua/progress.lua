-- key, token, position, progress -> 1, or 0 where the lease is lost
if call('HGET', P .. 'k:' .. ARGV[1], 't') ~= ARGV[2] then return 0 end
call('HSET', P .. 'k:' .. ARGV[1], 'r', ARGV[3] .. '|' .. ARGV[4])
return 1
