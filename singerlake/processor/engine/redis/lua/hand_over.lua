-- name, key, place before, place after, limit, tails ... -> {"done" | "moved" | "full", the place now}
-- A source's events and its place move together, or not at all.
local name, key, before, after = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local place = call('HGET', P .. 'place:' .. name, key) or ''
if place == after then return {'done', place} end
if place ~= before then return {'moved', place} end
local limit = tonumber(ARGV[5])
if #ARGV > 5 and call('LLEN', P .. 'q:' .. key) + #ARGV - 5 > limit then return {'full', place} end
call('HSET', P .. 'place:' .. name, key, after)
if #ARGV > 5 then
  local state = load(key)
  append(key, state, 0, ARGV, 6, #ARGV)
  save(key, state)
end
return {'done', after}
