-- One shard of an engine. KEYS[1] is its prefix "{<namespace>:<shard>}:", so that a Cluster keeps
-- all of it in one slot. Every script begins with this file, is one atomic step, and may be sent
-- again after a lost answer. Time is this server's alone.
--
--   meta             hash    format, shards: checked whenever an engine is opened
--   k:<key>          hash    the state of a key; the fields are below
--   q:<key>          list    its waiting events, head first: "position|expires|S or -|id|source\nvalue"
--   ready            zset    keys that any processor may take, by their turn
--   ready:<client>   zset    keys that wait for the processor that had them last, by their turn
--   turns            hash    by group of keys: the last turn; "" is the turn that was served last
--   leases           zset    leased keys, by the end of the lease in ms
--   due              zset    timers in ms: b<key> a back-off ends, i<key> a session is idle too long,
--                            y<key> stickiness ends, s<id> an event is due, c<client> a client is gone
--   idle             zset    clients that wait to be woken
--   scheduled        hash    by id: "key-length|S or -|ttl|source\nkeyvalue"
--   dead             hash    by "<key>\n<position>": "time|deliveries|reason-length|reasonentry"
--   sent:<producer>  string  the number of a producer's last request; for an hour
--   id:<id>          string  an id that was added; for an hour
--   place:<name>     hash    by key: how far a source has handed over its events
--   floor            zset    the highest number that a forgotten key had
--   wake:<client>    channel wakes a client
--
-- Fields of a key. A key is idle, waiting (w) or leased (t), never two of them.
--   t token   o slot that holds it   s leased since, ms      w "*" ready, "<client>", "!" backing off, "|" paused
--   p why it is paused: "dead", a reason, or "dead, " and a reason
--   h last position acknowledged       l last position given
--   g position of the newest event that may open a session   z client with the open session
--   n deliveries of the head   f last position handed out     q hand out singly up to this position
--   c client that had it last  u sticky until, ms             k last token
--   v value   r position|progress of an event   e last error           x log that was accepted

local P = KEYS[1]
local call = redis.call
local clock = call('TIME')
local us = clock[1] * 1000000 + clock[2]
local now = math.floor(us / 1000)
local HOUR = 3600000
local FIELDS = {'t', 'o', 's', 'w', 'p', 'h', 'l', 'g', 'z', 'n', 'f', 'q', 'c', 'u', 'k', 'v', 'r', 'e', 'x'}

local function text(number) return string.format('%.0f', number) end
local function num(value) return tonumber(value) or 0 end

local function load(key)
  local found = call('HMGET', P .. 'k:' .. key, unpack(FIELDS))
  local state = {was = found}
  for i = 1, #FIELDS do state[FIELDS[i]] = found[i] or '' end
  return state
end

local function save(key, state)
  local changed, was = {}, state.was
  for i = 1, #FIELDS do
    local value = state[FIELDS[i]]
    if value ~= (was[i] or '') then
      changed[#changed + 1] = FIELDS[i]
      changed[#changed + 1] = value
      was[i] = value
    end
  end
  if #changed > 0 then call('HSET', P .. 'k:' .. key, unpack(changed)) end
end

local function wake(client)
  if client then
    if call('ZREM', P .. 'idle', client) == 1 then call('PUBLISH', P .. 'wake:' .. client, '') end
    return
  end
  for _ = 1, 8 do -- whoever died while it waited hears nothing: then the next one
    local longest = call('ZPOPMIN', P .. 'idle')
    if not longest[1] or call('PUBLISH', P .. 'wake:' .. longest[1], '') > 0 then return end
  end
end

local function floor_of_numbers()
  return num(call('ZSCORE', P .. 'floor', 'number'))
end

-- Keys of one group stand in line; groups take turns, whatever the length of their lines.
local function turn_of(key)
  local group = string.match(key, '^([^/]*)/') or ''
  local last = call('HMGET', P .. 'turns', '', 'g' .. group)
  local turn = math.max(num(last[1]), num(last[2])) + 1
  if not last[2] and call('HLEN', P .. 'turns') > 5000 then -- groups come and go: begin anew
    call('DEL', P .. 'turns')
    call('HSET', P .. 'turns', '', text(num(last[1])))
  end
  call('HSET', P .. 'turns', 'g' .. group, text(turn))
  return turn
end

-- An idle key that has something to do waits from now on. The only way into a line.
local function make_ready(key, state, length)
  if state.t ~= '' or state.w ~= '' then return end
  if (length or call('LLEN', P .. 'q:' .. key)) == 0 then return end
  if state.p ~= '' then
    state.w = '|'
    return
  end
  if state.z == '' and num(state.g) <= num(state.h) then return end -- no event opens a session
  local line = '*'
  if state.c ~= '' and num(state.u) > now then
    if num(call('ZSCORE', P .. 'due', 'c' .. state.c)) > now then line = state.c end
  end
  state.w = line
  if line == '*' then
    call('ZADD', P .. 'ready', turn_of(key), key)
    wake()
  else
    call('ZADD', P .. 'ready:' .. line, turn_of(key), key)
    call('ZADD', P .. 'due', state.u, 'y' .. key)
    wake(line)
  end
end

local function stop_waiting(key, state)
  if state.w == '*' then call('ZREM', P .. 'ready', key)
  elseif state.w == '!' then call('ZREM', P .. 'due', 'b' .. key)
  elseif state.w ~= '' and state.w ~= '|' then
    call('ZREM', P .. 'ready:' .. state.w, key)
    call('ZREM', P .. 'due', 'y' .. key)
  end
  state.w = ''
end

local function parse(entry)
  local position, expires, opens = string.match(entry, '^(%d+)|(%d+)|(.)')
  return position, tonumber(expires), opens == 'S'
end

-- Appends events that came at this moment. `tails` are "S or -|id|source\nvalue".
local function append(key, state, ttl, tails, first, last)
  local position = num(state.l)
  if position == 0 then position = floor_of_numbers() end
  local expires = ttl > 0 and text(now + ttl) or '0'
  local length
  for i = first, last do
    position = math.max(position + 1, us)
    if string.sub(tails[i], 1, 1) == 'S' then state.g = text(position) end
    length = call('RPUSH', P .. 'q:' .. key, text(position) .. '|' .. expires .. '|' .. tails[i])
  end
  state.l = text(position)
  make_ready(key, state, length)
end

-- What holds a paused key: whether a dead letter does, and the reason that somebody gave, or "".
local function pauses(state)
  if state.p == 'dead' then return true, '' end
  if string.sub(state.p, 1, 6) == 'dead, ' then return true, string.sub(state.p, 7) end
  return false, state.p
end

local function paused_by(is_dead, reason)
  if is_dead and reason ~= '' then return 'dead, ' .. reason end
  return is_dead and 'dead' or reason
end

-- A person's request that was done leaves its number: sent again, it finds that it was.
local function was_done(producer, request) return call('GET', P .. 'sent:' .. producer) == request end
local function note_done(producer, request) call('SET', P .. 'sent:' .. producer, request, 'PX', HOUR) end

-- The head has gone, acknowledged or dead.
local function advance(state, position)
  state.h, state.n, state.e = position, '', ''
end

-- A key without events, lease, session and memory leaves nothing but the floor of its numbers.
local function forget(key, state, length)
  if state.t .. state.w .. state.p .. state.z .. state.v .. state.x .. state.c ~= '' then return false end
  if length ~= 0 and call('EXISTS', P .. 'q:' .. key) == 1 then return false end
  call('ZADD', P .. 'floor', 'GT', text(math.max(num(state.k), num(state.l), num(state.h))), 'number')
  call('DEL', P .. 'k:' .. key)
  return true
end

local function bury(key, state, reason)
  local entry = call('LPOP', P .. 'q:' .. key)
  if not entry then return end
  local position = parse(entry)
  call('HSET', P .. 'dead', key .. '\n' .. position,
    text(now) .. '|' .. text(num(state.n)) .. '|' .. #reason .. '|' .. reason .. entry)
  advance(state, position)
end
