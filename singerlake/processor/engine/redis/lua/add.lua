-- key, producer, request, id, ttl ms, limit, tails ... -> "added", "again" or "full"
local key, producer, request, id = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
if call('GET', P .. 'sent:' .. producer) == request then return 'again' end
if id ~= '' then
  if call('EXISTS', P .. 'id:' .. id) == 1 or call('HEXISTS', P .. 'scheduled', id) == 1 then return 'again' end
end
local limit = tonumber(ARGV[6])
if call('LLEN', P .. 'q:' .. key) + #ARGV - 6 > limit then return 'full' end
call('SET', P .. 'sent:' .. producer, request, 'PX', HOUR)
if id ~= '' then call('SET', P .. 'id:' .. id, key, 'PX', HOUR) end
local state = load(key)
append(key, state, tonumber(ARGV[5]), ARGV, 7, #ARGV)
save(key, state)
return 'added'
