-- What people do to a key: action, key, producer, request, then by action.
--   pause, reason        resume           accept (a log), id
--   redrive, position    drop, position   -> 1 done, 0 nothing there, "leased"
local action, key, producer, request, extra = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
if was_done(producer, request) then return 1 end
local state = load(key)

local function go_on()
  local is_held, reason = pauses(state)
  if is_held then
    is_held = false
    for _, field in ipairs(call('HKEYS', P .. 'dead')) do
      if string.sub(field, 1, #key + 1) == key .. '\n' then is_held = true end
    end
    state.p = paused_by(is_held, reason)
  end
  if state.p == '' and state.w == '|' then state.w = '' end
  make_ready(key, state)
end

-- Positions of a queue grow: an event that goes back to the head gets a new one with all behind it.
local function to_head(entry)
  if num(state.l) == 0 then state.l = text(floor_of_numbers()) end -- the key was forgotten meanwhile
  if num(parse(entry)) > num(state.h) and num(state.h) > 0 then
    call('LPUSH', P .. 'q:' .. key, entry)
    local position, _, opens = parse(entry)
    if opens and num(state.g) < num(position) then state.g = position end
    return
  end
  local entries = call('LRANGE', P .. 'q:' .. key, 0, -1)
  table.insert(entries, 1, entry)
  call('DEL', P .. 'q:' .. key)
  state.q = ''
  local tails = {}
  for _, one in ipairs(entries) do
    local position, expires, rest = string.match(one, '^(%d+)|(%d+)|(.*)$')
    local last = math.max(num(state.l) + 1, us)
    state.l = text(last)
    if string.sub(rest, 1, 1) == 'S' then state.g = text(last) end
    call('RPUSH', P .. 'q:' .. key, text(last) .. '|' .. expires .. '|' .. rest)
  end
end

if action == 'pause' then
  if state.t == '' then
    stop_waiting(key, state)
    state.w = '|'
  end
  local is_held = pauses(state)
  state.p = paused_by(is_held, extra)
elseif action == 'resume' then
  if state.p == '' then return 0 end
  local is_held, reason = pauses(state)
  if string.sub(reason, 1, 11) == 'renumbered ' then state.x = string.match(reason, '^renumbered (%S+)') end
  state.p = paused_by(is_held and reason ~= '', '') -- what a dead letter holds waits for a word of its own
  go_on()
else
  local field = key .. '\n' .. extra
  local found = call('HGET', P .. 'dead', field)
  if not found then return 0 end
  if action == 'redrive' then
    if state.t ~= '' then return 'leased' end
    local length, rest = string.match(found, '^%d+|%d+|(%d+)|(.*)$')
    call('HDEL', P .. 'dead', field)
    stop_waiting(key, state)
    state.n, state.r, state.e = '', '', ''
    to_head(string.sub(rest, tonumber(length) + 1))
  else call('HDEL', P .. 'dead', field) end
  go_on()
end
if not forget(key, state) then save(key, state) end
note_done(producer, request)
return 1
