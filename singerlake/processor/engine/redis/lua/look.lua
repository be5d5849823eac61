-- key ... -> for each its fields in the order of FIELDS, then: queue length, head, end of the lease,
-- its turn in the line that `w` names, end of the back-off, end of stickiness
local found = {}
for i, key in ipairs(ARGV) do
  local state, row = load(key), {}
  for _, field in ipairs(FIELDS) do row[#row + 1] = state[field] end
  row[#row + 1] = call('LLEN', P .. 'q:' .. key)
  row[#row + 1] = call('LINDEX', P .. 'q:' .. key, 0) or ''
  row[#row + 1] = call('ZSCORE', P .. 'leases', key) or ''
  local line = state.w == '*' and 'ready' or 'ready:' .. state.w
  row[#row + 1] = call('ZSCORE', P .. line, key) or ''
  row[#row + 1] = call('ZSCORE', P .. 'due', 'b' .. key) or ''
  row[#row + 1] = call('ZSCORE', P .. 'due', 'y' .. key) or ''
  found[i] = row
end
return {now, found}
