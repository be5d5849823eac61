-- One turn of a slot: the outcome of what it had, then the next that it gets.
--   1 slot      2 client    3 lease ms   4 sticky ms, 0 off    5 session's idle ms, 0: it ends with its last event
--   6 batch     7 most deliveries   8 "hold" | "skip"   9 "least" | "most" once   10 limit of leases, 0 none
--   11 flags: c claim a key, a again (an answer was lost), s sweep timers, w wake me when there is more,
--      o some keys stick to this client
--   12 key, "" for no outcome   13 token   14 position acknowledged, "" none   15 events acknowledged
--   16 what: more | rest | end | fail | later | again | dead   17 delay ms   18 error   19 "1": keep 20   20 value
--   21 "1": hand out singly what was handed out with it   22 sticky ms for this key
-- -> {"ok" | "lost" | "", ms until the next timer or -1, [key, token, starts, deliveries, value, progress, 1 where more wait, entries ...],
--     events that expired}
local slot, client, lease, sticky, idle = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local batch, most, at_most_once, limit = tonumber(ARGV[6]), tonumber(ARGV[7]), ARGV[9] == 'most', tonumber(ARGV[10])
local claims, again, own = string.find(ARGV[11], 'c'), string.find(ARGV[11], 'a'), string.find(ARGV[11], 'o')
local expired = 0
local function hold(state)
  local _, reason = pauses(state)
  if ARGV[8] == 'hold' then state.p = paused_by(true, reason) end
end

-- The next events of a key that this slot holds; nil where none is left.
local function hand(key, state)
  local entries, has_more
  local most_at_once = at_most_once and 1 or batch
  while true do
    entries = call('LRANGE', P .. 'q:' .. key, 0, most_at_once) -- one more, to know whether more wait
    local fresh, count = {}, 0
    for i, entry in ipairs(entries) do
      if i > most_at_once then break end
      local position, expires, opens = parse(entry)
      if expires > 0 and expires <= now then
        if count > 0 then break end
        call('LPOP', P .. 'q:' .. key)
        advance(state, position)
        expired = expired + 1
      elseif state.q ~= '' and count > 0 and num(position) <= num(state.q) then break
      else
        count = count + 1
        fresh[count] = entry
        if state.q ~= '' and num(position) <= num(state.q) then break end
      end
    end
    if count > 0 or #entries == 0 then
      has_more = #entries > count and 1 or 0
      entries = fresh
      break
    end
  end
  if #entries == 0 then return nil, 0 end
  if state.z == '' and num(state.g) <= num(state.h) then return nil end
  if state.q ~= '' and num(parse(entries[1])) > num(state.q) then state.q = '' end -- past the crash
  local starts = state.z ~= client and 1 or 0
  local position, progress = string.match(state.r, '^(%d+)|(.*)$')
  if position ~= parse(entries[1]) then state.r, progress = '', '' end
  local grant = {key, state.t, starts, num(state.n) + 1, state.v, progress, has_more, unpack(entries)}
  state.z = client
  state.f = parse(entries[#entries])
  if at_most_once then
    call('LPOP', P .. 'q:' .. key)
    advance(state, state.f)
  else state.n = text(num(state.n) + 1) end
  return grant
end

-- "Nothing left" and "let go" are one step: whatever was added meanwhile makes the key ready here.
local function release(key, state, completed, length)
  call('ZREM', P .. 'leases', key)
  state.t, state.o, state.s, state.f = '', '', '', ''
  length = length or call('LLEN', P .. 'q:' .. key)
  if completed or (idle == 0 and length == 0) then state.z = '' end
  if sticky > 0 and not completed then
    state.c, state.u = client, text(now + sticky)
  else state.c, state.u = '', '' end
  make_ready(key, state, length)
  if state.w == '' and idle > 0 and state.z ~= '' then call('ZADD', P .. 'due', now + idle, 'i' .. key)
  elseif state.w == '' and state.c ~= '' then call('ZADD', P .. 'due', state.u, 'y' .. key) end
  if not forget(key, state, length) then save(key, state) end
end

local function park(key, state, delay)
  call('ZREM', P .. 'leases', key)
  state.t, state.o, state.s, state.f = '', '', '', ''
  if sticky > 0 then state.c, state.u = client, text(now + delay + sticky) end
  if state.p ~= '' then state.w = '|'
  elseif delay <= 0 then make_ready(key, state)
  else
    state.w = '!'
    call('ZADD', P .. 'due', now + delay, 'b' .. key)
    wake() -- the one who parks it may be busy when the back-off ends
  end
  save(key, state)
end

local function lease_to(key, state)
  local last = num(state.k)
  if last == 0 then last = floor_of_numbers() end
  state.k = text(math.max(last + 1, us))
  state.t, state.o, state.s = state.k, slot, text(now)
  call('ZADD', P .. 'leases', now + lease, key)
end

local status, grant = '', nil

local function settle()
  local key, what = ARGV[12], ARGV[16]
  local state = load(key)
  if state.t == '' or state.t ~= ARGV[13] then return 'lost' end
  local position, count = ARGV[14], tonumber(ARGV[15])
  if again and what == 'more' and count > 0 and state.h == position then -- it was handed out, and nobody got it
    state.n = num(state.n) > 1 and text(num(state.n) - 1) or ''
  end
  if count > 0 and not at_most_once and state.h ~= position then
    local last = call('LINDEX', P .. 'q:' .. key, count - 1)
    if not last or parse(last) ~= position then return 'lost' end -- the server lost what it had promised
    call('LTRIM', P .. 'q:' .. key, count, -1)
    advance(state, position)
    if what == 'fail' or what == 'dead' then state.n = '1' end -- the next one was tried once, too
  end
  if ARGV[19] == '1' then state.v = ARGV[20] end
  if what == 'fail' then
    state.e = ARGV[18]
    if ARGV[21] == '1' then state.q = state.f end
    park(key, state, tonumber(ARGV[17]))
  elseif what == 'later' or what == 'again' then
    state.n = what == 'later' and num(state.n) > 1 and text(num(state.n) - 1) or ''
    park(key, state, tonumber(ARGV[17]))
  elseif what == 'dead' then
    bury(key, state, ARGV[18])
    hold(state)
    release(key, state, false)
  elseif what == 'more' and state.p == '' then
    local length
    grant, length = hand(key, state)
    if grant then save(key, state) else release(key, state, false, length) end
  else release(key, state, what == 'end') end
  return 'ok'
end

local function expire_lease(key)
  local state = load(key)
  if state.t == '' then return end
  if state.n ~= '' and state.f ~= '' then state.q = state.f end
  state.t, state.o, state.s, state.f, state.c, state.u, state.z = '', '', '', '', '', '', ''
  if num(state.g) <= num(state.h) then state.g = text(num(state.h) + 1) end -- its session goes on elsewhere
  make_ready(key, state)
  if not forget(key, state) then save(key, state) end
end

local function append_scheduled(id)
  local value = call('HGET', P .. 'scheduled', id)
  if not value then return end
  local length, ttl, rest = string.match(value, '^(%d+)|(%d+)|(.*)$')
  local key, tail = string.sub(rest, 1, tonumber(length)), string.sub(rest, tonumber(length) + 1)
  call('HDEL', P .. 'scheduled', id)
  call('SET', P .. 'id:' .. id, key, 'PX', HOUR)
  local state = load(key)
  append(key, state, tonumber(ttl), {tail}, 1, 1)
  save(key, state)
end

local function sweep()
  for _, key in ipairs(call('ZRANGEBYSCORE', P .. 'leases', '-inf', now, 'LIMIT', 0, 64)) do
    call('ZREM', P .. 'leases', key)
    expire_lease(key)
  end
  for _, timer in ipairs(call('ZRANGEBYSCORE', P .. 'due', '-inf', now, 'LIMIT', 0, 64)) do
    call('ZREM', P .. 'due', timer)
    local kind, name = string.sub(timer, 1, 1), string.sub(timer, 2)
    if kind == 's' then append_scheduled(name)
    elseif kind == 'c' then
      for _, key in ipairs(call('ZRANGE', P .. 'ready:' .. name, 0, -1)) do
        local state = load(key)
        stop_waiting(key, state)
        state.c, state.u = '', ''
        make_ready(key, state)
        save(key, state)
      end
    else
      local state = load(name)
      if kind == 'b' and state.w == '!' then state.w = '' end
      if kind == 'y' then
        if state.w == state.c then stop_waiting(name, state) end
        state.c, state.u = '', ''
      end
      if kind == 'i' and state.w == '' and state.t == '' then
        state.z = ''
        if state.c ~= '' then call('ZADD', P .. 'due', state.u, 'y' .. name) end -- forgotten after it
      end
      make_ready(name, state)
      if not forget(name, state) then save(name, state) end
    end
  end
end

local function take(key, turn)
  local state = load(key)
  if state.w ~= '*' then call('ZREM', P .. 'due', 'y' .. key) end
  state.w = ''
  call('HSET', P .. 'turns', '', turn)
  if num(state.n) >= most then -- it took its processors down with it
    bury(key, state, state.n .. ' deliveries ended without an outcome')
    hold(state)
    make_ready(key, state)
    if not forget(key, state) then save(key, state) end
    return
  end
  lease_to(key, state)
  grant = hand(key, state)
  if grant then save(key, state) else release(key, state, false) end
end

if ARGV[12] ~= '' then
  local usual = sticky
  sticky = tonumber(ARGV[22])
  status = settle()
  sticky = usual
end
if string.find(ARGV[11], 's') then sweep() end
if again and claims and not grant then -- an earlier claim of this slot may have been applied
  for _, key in ipairs(call('ZRANGE', P .. 'leases', 0, -1)) do
    local state = load(key)
    if state.o == slot and state.t ~= ARGV[13] and not grant then
      if not at_most_once then state.n = num(state.n) > 1 and text(num(state.n) - 1) or '' end
      state.z = ''
      if num(state.g) <= num(state.h) then state.g = text(num(state.h) + 1) end
      grant = hand(key, state)
      if grant then save(key, state) else release(key, state, false) end
    end
  end
end
if claims and not grant and not (limit > 0 and call('ZCARD', P .. 'leases') >= limit) then
  while not grant do
    local line = 'ready'
    if own then -- whichever is first in its turn: a busy line of its own starves no other key
      local mine = call('ZRANGE', P .. 'ready:' .. client, 0, 0, 'WITHSCORES')
      local others = call('ZRANGE', P .. 'ready', 0, 0, 'WITHSCORES')
      if mine[1] and (not others[1] or tonumber(mine[2]) <= tonumber(others[2])) then line = 'ready:' .. client end
    end
    local first = call('ZPOPMIN', P .. line)
    if not first[1] then break end
    take(first[1], first[2])
  end
end
if grant or not claims then
  if not claims and status == 'ok' then wake() end -- somebody else may have what this slot let go
  return {status, 0, grant or {}, expired}
end
if own then call('ZADD', P .. 'due', now + lease, 'c' .. client) end
if string.find(ARGV[11], 'w') then call('ZADD', P .. 'idle', now, client) end
local next_timer = -1
for _, timers in ipairs({'leases', 'due'}) do
  local first = call('ZRANGE', P .. timers, 0, 0, 'WITHSCORES')
  if first[2] and (next_timer < 0 or tonumber(first[2]) < next_timer) then next_timer = tonumber(first[2]) end
end
if next_timer >= 0 then next_timer = math.max(0, next_timer - now) end
return {status, next_timer, {}, expired}
