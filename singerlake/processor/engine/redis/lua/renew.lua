-- client or "", lease ms, (key, token) ... -> the keys that are lost
local lease, lost = tonumber(ARGV[2]), {}
if ARGV[1] ~= '' then call('ZADD', P .. 'due', now + lease, 'c' .. ARGV[1]) end
for i = 3, #ARGV, 2 do
  if call('HGET', P .. 'k:' .. ARGV[i], 't') == ARGV[i + 1] then
    call('ZADD', P .. 'leases', now + lease, ARGV[i])
  else lost[#lost + 1] = ARGV[i] end
end
return lost
