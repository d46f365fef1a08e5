-- Changes of an app's state in Redis. Each operation is one step, and any server of the app may
-- call it:
--
--   redis-cli --eval cluster.lua KEY... , OPERATION ARGUMENT...
--
-- Keys of a channel:
--   counts    connections by node
--   users     connections by user
--   members   each user: number of its arrival, and the member
--   byNode    connections by node and user
--   event     last event of a cache channel
--   stream    recent events of the channel, by serial
--   place     ID of the channel's stream, and serial of its last event
-- Keys of the app:
--   departed  departures with delayed webhooks, by due time; each has channel, `m` or `v`, and user
--   order     number of the latest arrival or departure of a member, on any channel
--   users     connections by signed-in user (operations signIn, signOut and probe)
--   nodes     names of all nodes with entries to remove
--   own       connections of one node by signed-in user
--   streams   name for all streams, which a node asked for
--   life      the same name, once events get serials
--   ready     nodes that give serials
--   streamed  number of the latest stream, on any channel
--
-- A message is a row of fields. A field is its length, a colon and its bytes. An operation
-- publishes the answer to the calling node in the same step, so a node receives all changes of a
-- channel in their order. No message lists members, because Redis closes a subscriber's connection
-- that has too much to carry. Nodes read `members` in pages. Numbers from `order` tell if a page is
-- older than a change.
--
-- No operation may hold Redis for long: each loop has a bound that does not grow with a channel.
--
-- `leaseEnd` is the end of the node's lease, in milliseconds of Redis' clock. After that time the
-- operation changes nothing, because another node may have removed all entries of this node. An
-- empty `leaseEnd` is always valid. `isMember` is 1 or 0. `before` and `after` are the text around
-- a count; an app without counts passes empty texts. `delay` is the delay of a departure's webhook,
-- in milliseconds; empty for none. A change is 0 for no change, 1 for a change to report, and 2 for
-- a delayed departure or an arrival that cancels one.

-- Keys and arguments of each operation, in their order. Dots stand for any number of further
-- arguments.
local operations = {
  join = [[counts users members byNode event departed order nodes :
    node answers request bus channel socket isMember user member limit before after connections has leaseEnd]],
  enter = [[counts users members byNode event departed order nodes :
    node answers request bus channel isMember before after leaseEnd ...]],
  leave = [[counts users members byNode event departed order :
    node bus channel isMember user before after leaseEnd delay]],
  reap = [[counts users members byNode event departed order :
    node bus channel before after delay cursor]],
  facts = [[counts users members byNode event departed order :]],
  keep = [[event : event milliseconds bus message]],
  beginStreams = [[streams life ready nodes probe : node life milliseconds bus]],
  publish = [[life streamed stream place event :
    bus channel kind socket text event milliseconds window limit]],
  replay = [[life streamed stream place : limit]],
  tellCount = [[counts mark : bus channel before after milliseconds]],
  signIn = [[users own nodes : node answers request bus user socket came connections leaseEnd ...]],
  signOut = [[users own : bus user left connections leaseEnd]],
  begin = [[lease nodes : content milliseconds node]],
  beat = [[lease : content milliseconds leaseEnd]],
  admit = [[events bytes : events bytes eventLimit byteLimit]],
  takeDepartures = [[departed : which]],
  holdAgain = [[counts users members byNode event departed order : channel isMember user delay]],
  probe = [[probe nodes enrolled users departed : bus]],
}

local operation = ARGV[1]
if not operations[operation] then return redis.error_reply('ERR cluster.lua: unknown operation') end

-- The keys and the arguments of this call, by name. `last` is the index of the last named argument.
local k, a, last, isOpen = {}, {}, 0, false
local to, from = k, KEYS
for name in string.gmatch(operations[operation], '%S+') do
  if name == '...' then
    isOpen = true
  elseif name == ':' then
    if last ~= #KEYS then return redis.error_reply('ERR cluster.lua: wrong number of keys for ' .. operation) end
    to, from, last = a, ARGV, 1
  else
    last = last + 1
    to[name] = from[last]
  end
end
if #ARGV < last or #ARGV > last and not isOpen then
  return redis.error_reply('ERR cluster.lua: wrong number of arguments for ' .. operation)
end

local call = redis.call

-- Returns a field of a message.
local function f(x)
  x = tostring(x)
  return #x .. ':' .. x
end

-- Returns Redis' time in milliseconds.
local function clock()
  local t = call('TIME')
  return tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000)
end

local function isLate() return a.leaseEnd ~= '' and clock() >= tonumber(a.leaseEnd) end

-- Returns whether Redis was emptied after the node began. Then no server would remove its entries.
local function isUnknown() return call('SISMEMBER', k.nodes, a.node) == 0 end

-- Returns the channel's connections on all nodes.
local function total()
  local n = 0
  for _, v in ipairs(call('HVALS', k.counts)) do
    local count = tonumber(v)
    -- Ignores numbers that no server writes.
    if count and count > 0 and count <= 1e9 then n = n + count end
  end
  return math.min(math.floor(n), 1e15)
end

-- Stores an event of a cache channel. With empty `milliseconds` it does not expire.
local function cache()
  if a.milliseconds == '' then
    call('SET', k.event, a.event)
  else
    call('SET', k.event, a.event, 'PX', a.milliseconds)
  end
end

-- Returns the ID of the channel's stream in this life. A stream without use for a day is forgotten.
local function streamID(life)
  local id = call('HGET', k.place, 'id')
  if not id or string.sub(id, 1, #life + 1) ~= life .. '-' then
    call('DEL', k.place, k.stream)
    id = life .. '-' .. call('INCR', k.streamed)
    call('HSET', k.place, 'id', id)
  end
  call('PEXPIRE', k.place, 86400000)
  return id
end

-- Returns the departure of a user, or of the channel's last subscriber.
local function departure(user) return f(a.channel) .. f(user and 'm' or 'v') .. f(user or '') end

-- Delays the webhook of a departure, and returns the change. Above 10,000 departures the webhook is
-- sent at once.
local function hold(user)
  if a.delay == '' or call('ZCARD', k.departed) >= 10000 then return 1 end
  call('ZADD', k.departed, clock() + tonumber(a.delay), departure(user))
  return 2
end

-- Removes the delayed departure of a returning user or subscriber, and returns the change.
local function arrive(user) return 1 + call('ZREM', k.departed, departure(user)) end

-- Publishes the count of a small channel. The nodes publish larger counts at intervals: see
-- tellCount.
local function tell(n)
  if a.before ~= '' and n > 0 and n <= 100 then
    call('PUBLISH', a.bus, f('m') .. f(a.channel) .. f('0') .. f('') .. f(a.before .. n .. a.after))
  end
end

-- Adds connections of a user, and returns the user's change. Publishes an arrival.
local function admit(user, amount, member)
  call('HINCRBY', k.byNode, a.node .. '|' .. user, amount)
  if call('HINCRBY', k.users, user, amount) ~= amount then return 0 end
  local change, value = arrive(user), f(call('INCR', k.order)) .. f(member)
  call('HSET', k.members, user, value)
  call('PUBLISH', a.bus, f('a') .. f(a.channel) .. f(a.socket or '') .. f(user) .. value)
  return change
end

-- Removes connections of a user. If none is left, publishes the departure and returns true.
local function drop(user, amount)
  if call('HINCRBY', k.users, user, -amount) > 0 then return false end
  call('HDEL', k.users, user)
  if call('HDEL', k.members, user) == 0 then return false end
  call('PUBLISH', a.bus, f('r') .. f(a.channel) .. f(user) .. f(call('INCR', k.order)))
  return true
end

local function forgetChannel() call('DEL', k.counts, k.users, k.members, k.byNode) end

-- Adds connections, and publishes the answer to `answers`. A `limit` of 0 means no limit of users.
-- `has` is the number of connections that the node already has on the channel.
--
-- Returns the changes of the channel and of the user, and 1 if the node must register again: its
-- lease is over, or Redis knows fewer connections than the node has.
if operation == 'join' then
  local had = call('HGET', k.counts, a.node) or '0'
  if isLate() or isUnknown() or (tonumber(had) or 0) < tonumber(a.has) then return {0, 0, 1} end
  local amount, limit, isMember = tonumber(a.connections), tonumber(a.limit), a.isMember == '1'
  local n = total()
  local head = f('j') .. f(a.request) .. f(a.channel)
  if isMember and amount > 0 and limit > 0 and call('HEXISTS', k.users, a.user) == 0
    and call('HLEN', k.users) >= limit then
    call('PUBLISH', a.answers, head .. f('full'))
    return {0, 0, 0}
  end
  local first, new = 0, 0
  if amount > 0 then
    if n == 0 then first = arrive() end
    n = n + amount
    call('HINCRBY', k.counts, a.node, amount)
    if isMember then new = admit(a.user, amount, a.member) end
  end
  call('PUBLISH', a.answers, head .. f('ok') .. f(first) .. f(new) .. f(n) .. f(call('GET', k.event) or ''))
  if amount > 0 then tell(n) end
  return {first, new, 0}
end

-- Adds the connections that a node had before, of one channel. The further arguments are
-- connections, user and member of each user, or only the connections of a channel without members.
-- The node sends few at a time. The answer to `answers` tells it that this step's messages arrived.
--
-- Returns the change of the channel, 1 if the node must register again, and each user's change.
if operation == 'enter' then
  if isLate() or isUnknown() then return {0, 1} end
  local out, amount, before, isMember = {0, 0}, 0, total(), a.isMember == '1'
  if before == 0 then out[1] = arrive() end
  for i = last + 1, #ARGV, isMember and 3 or 1 do
    local connections = tonumber(ARGV[i])
    amount = amount + connections
    if isMember then out[#out + 1] = admit(ARGV[i + 1], connections, ARGV[i + 2]) end
  end
  call('HINCRBY', k.counts, a.node, amount)
  call('PUBLISH', a.answers, f('e') .. f(a.request))
  tell(before + amount)
  return out
end

-- Removes a connection.
--
-- Returns the changes of the channel and of the user, and the number of remaining connections; -1
-- if the lease is over or Redis knows no connection of the node.
if operation == 'leave' then
  if isLate() or call('HEXISTS', k.counts, a.node) == 0 then return {0, 0, -1} end
  if call('HINCRBY', k.counts, a.node, -1) <= 0 then call('HDEL', k.counts, a.node) end
  local gone = 0
  if a.isMember == '1' then
    local field = a.node .. '|' .. a.user
    if call('HINCRBY', k.byNode, field, -1) <= 0 then call('HDEL', k.byNode, field) end
    if drop(a.user, 1) then gone = hold(a.user) end
  end
  local n = total()
  tell(n)
  if n > 0 then return {0, gone, n} end
  forgetChannel()
  return {hold(), gone, 0}
end

-- Removes connections of a dead node: at most 50 on one page of the table `byNode`, which begins at
-- `cursor`. The node's count goes last.
--
-- Returns the change of the channel, the cursor for the next call, empty after the last one, then
-- the name and the change of each departed user.
if operation == 'reap' then
  local page, prefix = call('HSCAN', k.byNode, a.cursor, 'COUNT', 100), a.node .. '|'
  local out, entries, removed = {0, page[1]}, page[2], 0
  for i = 1, #entries, 2 do
    if string.sub(entries[i], 1, #prefix) == prefix and call('HDEL', k.byNode, entries[i]) == 1 then
      removed = removed + 1
      local user = string.sub(entries[i], #prefix + 1)
      if drop(user, tonumber(entries[i + 1]) or 0) then
        out[#out + 1] = user
        out[#out + 1] = hold(user)
      end
    end
    if removed == 50 then
      out[2] = a.cursor
      return out
    end
  end
  if page[1] ~= '0' then return out end
  out[2] = ''
  if call('HDEL', k.counts, a.node) == 0 then return out end
  local n = total()
  tell(n)
  if n == 0 then
    out[1] = hold()
    forgetChannel()
  end
  return out
end

-- Returns the number of connections, the last event, its time to live in milliseconds, and the
-- number of users.
if operation == 'facts' then
  return {total(), call('GET', k.event) or '', call('PTTL', k.event), call('HLEN', k.users)}
end

-- Stores an event of a cache channel and publishes the message.
if operation == 'keep' then
  cache()
  return call('PUBLISH', a.bus, a.message)
end

-- Asks for serials. The first call tells all nodes; each node then adds itself, and publishes by
-- `publish` from then on. Once all nodes do, events get serials, for `milliseconds` after the last
-- call. Each call brings another `life`, because an emptied Redis counts streams from 1 again.
--
-- Returns 1 once events get serials, 0 before; -1 if Redis refuses streams.
if operation == 'beginStreams' then
  local tried = redis.pcall('XADD', k.probe, 'MAXLEN', '~', '1', '*', 'a', '1')
  if type(tried) == 'table' and tried.err then return -1 end
  call('DEL', k.probe)
  if call('SET', k.streams, a.life, 'NX') then
    call('DEL', k.ready, k.life)
    call('PUBLISH', a.bus, f('v'))
  end
  -- Read before its lease is set: Redis removes a key at once if the lease is already over.
  local life = call('GET', k.streams)
  call('SADD', k.ready, a.node)
  -- Without `ready`, no later call could succeed.
  call('PEXPIRE', k.ready, 2 * tonumber(a.milliseconds))
  call('PEXPIRE', k.streams, a.milliseconds)
  if #call('SDIFF', k.nodes, k.ready) > 0 and call('EXISTS', k.life) == 0 then return 0 end
  call('SET', k.life, life, 'PX', a.milliseconds)
  return 1
end

-- Publishes an event. Once events get serials, gives it the next one of its channel, and keeps it
-- for `window`. With a text in `event`, stores that too, as `keep` does.
if operation == 'publish' then
  if a.event ~= '' then cache() end
  local message = f('m') .. f(a.channel) .. f(a.kind) .. f(a.socket) .. f(a.text)
  local life = call('GET', k.life)
  if not life then return call('PUBLISH', a.bus, message) end
  local id, serial = streamID(life), call('HINCRBY', k.place, 'serial', 1)
  call('XADD', k.stream, 'MAXLEN', '~', a.limit, serial .. '-0', 't', clock(), 'm', a.text)
  call('PEXPIRE', k.stream, a.window)
  return call('PUBLISH', a.bus, message .. f(id) .. f(serial))
end

-- Returns the ID and the serial of a channel's stream, the time, and for each of the last `limit`
-- events its serial, time and text, the latest first; nothing if events get no serials.
if operation == 'replay' then
  local life = call('GET', k.life)
  if not life then return {} end
  local out = {streamID(life), tonumber(call('HGET', k.place, 'serial') or '0'), clock()}
  local events = a.limit == '0' and {} or call('XREVRANGE', k.stream, '+', '-', 'COUNT', a.limit)
  for _, event in ipairs(events) do
    out[#out + 1] = tonumber(string.match(event[1], '%d+'))
    out[#out + 1] = tonumber(event[2][2])
    out[#out + 1] = event[2][4]
  end
  return out
end

-- Publishes the count of a large channel, at most once in `milliseconds` for all nodes.
--
-- Returns the count to the node that published it, and 0 to other nodes.
if operation == 'tellCount' then
  if not call('SET', k.mark, '1', 'NX', 'PX', a.milliseconds) then return 0 end
  local n = total()
  call('PUBLISH', a.bus, f('m') .. f(a.channel) .. f('0') .. f('') .. f(a.before .. n .. a.after))
  return n
end

-- Adds connections of a signed-in user. The further arguments are the users on the watchlist; the
-- answer to `answers` lists the online users among them.
--
-- Returns 1; -1 if the lease is over or Redis was emptied.
if operation == 'signIn' then
  if isLate() or isUnknown() then return -1 end
  local amount = tonumber(a.connections)
  call('HINCRBY', k.own, a.user, amount)
  local isNew = call('HINCRBY', k.users, a.user, amount) == amount
  local answer = {f('s'), f(a.request)}
  for i = last + 1, #ARGV do
    if call('HEXISTS', k.users, ARGV[i]) == 1 then answer[#answer + 1] = f(ARGV[i]) end
  end
  call('PUBLISH', a.answers, table.concat(answer))
  if isNew and a.came ~= '' then call('PUBLISH', a.bus, f('w') .. f(a.user) .. f(a.socket) .. f(a.came)) end
  return 1
end

-- Removes connections of a signed-in user. `leaseEnd` is empty for a dead node.
--
-- Returns 1 if the user has no connection left, else 0; -1 if the lease is over or Redis knows no
-- connection of the user on the node.
if operation == 'signOut' then
  local amount = tonumber(a.connections)
  if isLate() or call('HEXISTS', k.own, a.user) == 0 then return -1 end
  if call('HINCRBY', k.own, a.user, -amount) <= 0 then call('HDEL', k.own, a.user) end
  if call('HINCRBY', k.users, a.user, -amount) > 0 then return 0 end
  call('HDEL', k.users, a.user)
  call('PUBLISH', a.bus, f('w') .. f(a.user) .. f('') .. f(a.left))
  return 1
end

-- Begins the lease of a node, and returns its end.
if operation == 'begin' then
  call('SADD', k.nodes, a.node)
  call('SET', k.lease, a.content, 'PX', a.milliseconds)
  return clock() + tonumber(a.milliseconds)
end

-- Renews a lease, and returns its new end; 0 if the lease is over. A longer lease is not shortened.
if operation == 'beat' then
  if isLate() or call('EXISTS', k.lease) == 0 then return 0 end
  local left = call('PTTL', k.lease)
  if left > tonumber(a.milliseconds) then return clock() + left end
  call('SET', k.lease, a.content, 'PX', a.milliseconds)
  return clock() + tonumber(a.milliseconds)
end

-- Counts the events and bytes of an app in this second, unless they exceed a limit. An empty limit
-- means no limit.
--
-- Returns 1 if the events exceed their limit, 2 if the bytes do, else 0.
if operation == 'admit' then
  local second = call('TIME')[1]
  local quotas = {{k.events, a.events, a.eventLimit}, {k.bytes, a.bytes, a.byteLimit}}
  for i, quota in ipairs(quotas) do
    local key, amount, limit = unpack(quota)
    if call('HGET', key, 's') ~= second then call('DEL', key) end
    local used = tonumber(call('HGET', key, 'n') or '0')
    if limit ~= '' and tonumber(amount) > tonumber(limit) - used then return i end
  end
  for _, quota in ipairs(quotas) do
    call('HSET', quota[1], 's', second)
    call('HINCRBY', quota[1], 'n', quota[2])
    call('PEXPIRE', quota[1], 2000)
  end
  return 0
end

-- Removes and returns at most 100 departures that are due, or that wait at all if `which` is `all`.
if operation == 'takeDepartures' then
  local limit = a.which == 'all' and '+inf' or clock()
  local due = call('ZRANGEBYSCORE', k.departed, '-inf', limit, 'LIMIT', 0, 100)
  if #due > 0 then call('ZREM', k.departed, unpack(due)) end
  return due
end

-- Delays a departure again, and returns the change; 0 if the user, or a subscriber of the channel,
-- is present.
if operation == 'holdAgain' then
  if a.isMember == '1' then
    if call('HEXISTS', k.users, a.user) == 1 then return 0 end
    return hold(a.user)
  end
  if total() > 0 then return 0 end
  return hold()
end

-- Tries each command that the nodes and the other operations use. The published message has no
-- meaning.
--
-- Returns the name of each refused command, with the error.
if operation == 'probe' then
  local refused, key = {}, k.probe
  local commands = {
    {'DEL', key}, {'HSET', key, 'a', '1'}, {'HGET', key, 'a'}, {'HINCRBY', key, 'a', '1'},
    {'HEXISTS', key, 'a'}, {'HLEN', key}, {'HVALS', key}, {'HGETALL', key}, {'HSCAN', key, '0'},
    {'HDEL', key, 'a'},
    {'DEL', key}, {'SET', key, '1', 'NX', 'PX', '1000'}, {'GET', key}, {'INCR', key}, {'MGET', key},
    {'EXISTS', key}, {'PTTL', key}, {'PEXPIRE', key, '1000'},
    {'DEL', key}, {'SADD', key, 'a'}, {'SMEMBERS', key}, {'SUNION', key}, {'SREM', key, 'a'},
    {'DEL', key}, {'ZADD', key, '1', 'a'}, {'ZRANGEBYSCORE', key, '-inf', '1', 'LIMIT', '0', '1'},
    {'ZREM', key, 'a'}, {'DEL', key}, {'TIME'}, {'SCARD', k.nodes}, {'SISMEMBER', k.enrolled, 'a'},
    {'HLEN', k.users}, {'ZCARD', k.departed}, {'PUBLISH', a.bus, '1:p'},
  }
  for _, command in ipairs(commands) do
    local answer = redis.pcall(unpack(command))
    if type(answer) == 'table' and answer.err then
      refused[#refused + 1] = command[1] .. ' ' .. answer.err
    end
  end
  return refused
end
