-- The hot path of a turn, without common.lua: acknowledges, and hands out the next events of the same
-- key. Where anything is out of the ordinary it changes nothing and returns nil; then turn.lua decides.
--   key, token, position acknowledged, events acknowledged, batch -> {value, 1 where more wait, entries ...}
local P, key, position, count = KEYS[1], ARGV[1], ARGV[3], tonumber(ARGV[4])
local state = redis.call('HMGET', P .. 'k:' .. key, 't', 'h', 'z', 'p', 'q', 'r', 'v')
if state[1] ~= ARGV[2] or state[2] == position or not state[3] or state[3] == '' then return nil end
for i = 4, 6 do
  if state[i] and state[i] ~= '' then return nil end
end
local queue = P .. 'q:' .. key
local batch = tonumber(ARGV[5])
local entries = redis.call('LRANGE', queue, 0, count + batch) -- one more, to know whether more wait
if #entries <= count or string.match(entries[count], '^%d+') ~= position then return nil end
local answer, last = {state[7] or '', #entries > count + batch and 1 or 0}, nil
for i = count + 1, math.min(#entries, count + batch) do
  local expires
  last, expires = string.match(entries[i], '^(%d+)|(%d+)')
  if expires ~= '0' then return nil end
  answer[#answer + 1] = entries[i]
end
redis.call('LTRIM', queue, count, -1)
redis.call('HSET', P .. 'k:' .. key, 'h', position, 'n', '1', 'e', '', 'f', last)
return answer
