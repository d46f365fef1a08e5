#if Redis
  /// The changes of an app's state in Redis, each one step.
  ///
  /// The keys of a channel are, in this order: subscribers by node; connections by user; users as others know them;
  /// connections by node and user; the last event; the number of the last user; and the app's departures that webhooks do not
  /// tell yet. A message is a row of fields, each its
  /// length, a colon and its bytes. What a node counts in and out has the end of its lease with it, in milliseconds by Redis'
  /// clock: later it changes nothing, since others may have counted out everything that the node had. Whatever a change causes is published in the same step, the answer to the node that
  /// asked among it: so all that a node hears of a channel comes in the order of the changes.
  package enum RedisScripts {
    static let common = """
      local function f(x) x = tostring(x) return #x .. ':' .. x end
      local function field(s, p)
        local c = string.find(s, ':', p, true)
        local e = c + tonumber(string.sub(s, p, c - 1))
        return string.sub(s, c + 1, e), e + 1
      end
      local function clock()
        local t = redis.call('TIME')
        return tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000)
      end
      local function late(limit) return limit ~= '' and clock() >= tonumber(limit) end
      local function total(key)
        local n = 0
        for _, v in ipairs(redis.call('HVALS', key)) do
          local count = tonumber(v)
          -- A number that no server writes counts nothing.
          if count and count > 0 and count <= 1e9 then n = n + count end
        end
        return math.min(math.floor(n), 1e15)
      end
      local function departure(channel, user) return f(channel) .. f(user and 'm' or 'v') .. f(user or '') end
      local function hold(key, delay, channel, user)
        if delay == '' or redis.call('ZCARD', key) >= 10000 then return 1 end
        redis.call('ZADD', key, clock() + tonumber(delay), departure(channel, user))
        return 2
      end
      local function arrive(key, channel, user)
        return 1 + redis.call('ZREM', key, departure(channel, user))
      end
      local function tell(bus, channel, n, before, after)
        if before ~= '' and n > 0 and n <= 100 then
          redis.call('PUBLISH', bus, f('m') .. f(channel) .. f('0') .. f('') .. f(before .. n .. after))
        end
      end
      local function drop(user, amount, bus, channel)
        if redis.call('HINCRBY', KEYS[2], user, -amount) > 0 then return false end
        local value = redis.call('HGET', KEYS[3], user)
        redis.call('HDEL', KEYS[2], user)
        redis.call('HDEL', KEYS[3], user)
        if not value then return false end
        local _, p = field(value, 1)
        _, p = field(value, p)
        redis.call('PUBLISH', bus, f('r') .. f(channel) .. f(user) .. f((field(value, p))))
        return true
      end

      """

    /// Counts connections in, and answers.
    ///
    /// ARGV: node, its answers' channel, request, bus, channel, socket, whether there is a user, user, member, word of
    /// its coming, word of its going, limit of members, text before a count, text after it, connections, how many the
    /// node has already, end of its lease.
    ///
    /// Returns whether the channel was empty before and whether the user is new, each as a ``RedisChange``, and whether the
    /// node must register anew: its lease is over, or Redis knows of fewer connections than it has.
    package static let join = RedisScript(
      common + """
        local had = redis.call('HGET', KEYS[1], ARGV[1]) or '0'
        if late(ARGV[17]) or (tonumber(had) or 0) < tonumber(ARGV[16]) then return {0, 0, 1} end
        local amount = tonumber(ARGV[15])
        local n = total(KEYS[1])
        local hasUser, user = ARGV[7] == '1', ARGV[8]
        local limit = tonumber(ARGV[12])
        local head = f('j') .. f(ARGV[3]) .. f(ARGV[5])
        if hasUser and amount > 0 and limit > 0 and redis.call('HEXISTS', KEYS[2], user) == 0
          and redis.call('HLEN', KEYS[2]) >= limit then
          redis.call('PUBLISH', ARGV[2], head .. f('full'))
          return {0, 0, 0}
        end
        local first, new = 0, 0
        if amount > 0 then
          if n == 0 then first = arrive(KEYS[7], ARGV[5]) end
          n = n + amount
          redis.call('HINCRBY', KEYS[1], ARGV[1], amount)
          if hasUser then
            redis.call('HINCRBY', KEYS[4], ARGV[1] .. '|' .. user, amount)
            if redis.call('HINCRBY', KEYS[2], user, amount) == amount then
              new = arrive(KEYS[7], ARGV[5], user)
              local order = redis.call('INCR', KEYS[6])
              redis.call('HSET', KEYS[3], user, f(order) .. f(ARGV[9]) .. f(ARGV[11]))
            end
          end
        end
        local answer = head .. f('ok') .. f(first) .. f(new) .. f(n) .. f(redis.call('GET', KEYS[5]) or '')
        if hasUser then
          for _, x in ipairs(redis.call('HGETALL', KEYS[3])) do answer = answer .. f(x) end
        end
        redis.call('PUBLISH', ARGV[2], answer)
        if amount > 0 then tell(ARGV[4], ARGV[5], n, ARGV[13], ARGV[14]) end
        if new > 0 then
          redis.call('PUBLISH', ARGV[4], f('a') .. f(ARGV[5]) .. f(ARGV[6]) .. f(user) .. f(ARGV[10]))
        end
        return {first, new, 0}
        """)

    /// Counts a connection out.
    ///
    /// ARGV: node, bus, channel, whether there is a user, user, text before a count, text after it, end of the lease,
    /// milliseconds for which a departure is held back, or nothing.
    ///
    /// Returns whether the channel is empty now and whether the user is gone, each as a ``RedisChange``, and how many are left, or -1 when the lease is
    /// over, or nothing is known of the node.
    package static let leave = RedisScript(
      common + """
        if late(ARGV[8]) or redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return {0, 0, -1} end
        if redis.call('HINCRBY', KEYS[1], ARGV[1], -1) <= 0 then redis.call('HDEL', KEYS[1], ARGV[1]) end
        local gone = 0
        if ARGV[4] == '1' then
          local key = ARGV[1] .. '|' .. ARGV[5]
          if redis.call('HINCRBY', KEYS[4], key, -1) <= 0 then redis.call('HDEL', KEYS[4], key) end
          if drop(ARGV[5], 1, ARGV[2], ARGV[3]) then gone = hold(KEYS[7], ARGV[9], ARGV[3], ARGV[5]) end
        end
        local n = total(KEYS[1])
        tell(ARGV[2], ARGV[3], n, ARGV[6], ARGV[7])
        if n > 0 then return {0, gone, n} end
        redis.call('DEL', KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[6])
        return {hold(KEYS[7], ARGV[9], ARGV[3]), gone, 0}
        """)

    /// Counts out what a node had that is gone.
    ///
    /// ARGV: the node that is gone, bus, channel, text before a count, text after it, milliseconds for which a departure is
    /// held back, or nothing.
    ///
    /// Returns whether the channel is empty since, and for each user that is gone its name and how it is told; each as a
    /// ``RedisChange``.
    static let reap = RedisScript(
      common + """
        local was = redis.call('HDEL', KEYS[1], ARGV[1])
        local prefix = ARGV[1] .. '|'
        local all = redis.call('HGETALL', KEYS[4])
        local out = {0}
        for i = 1, #all, 2 do
          if string.sub(all[i], 1, #prefix) == prefix then
            redis.call('HDEL', KEYS[4], all[i])
            local user = string.sub(all[i], #prefix + 1)
            if drop(user, tonumber(all[i + 1]) or 0, ARGV[2], ARGV[3]) then
              out[#out + 1] = user
              out[#out + 1] = hold(KEYS[7], ARGV[6], ARGV[3], user)
            end
          end
        end
        local n = total(KEYS[1])
        if was == 0 then return out end
        tell(ARGV[2], ARGV[3], n, ARGV[4], ARGV[5])
        if n == 0 then
          out[1] = hold(KEYS[7], ARGV[6], ARGV[3])
          redis.call('DEL', KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[6])
        end
        return out
        """)

    /// Returns the number of subscribers, the last event with its time to live, and the members.
    static let facts = RedisScript(
      common + """
        local out = {total(KEYS[1]), redis.call('GET', KEYS[5]) or '', redis.call('PTTL', KEYS[5])}
        for _, x in ipairs(redis.call('HGETALL', KEYS[3])) do out[#out + 1] = x end
        return out
        """)

    /// Keeps an event of a cache channel, and publishes it.
    ///
    /// KEYS: the last event. ARGV: the event, milliseconds to keep it or nothing, bus, message.
    static let keep = RedisScript(
      """
      if ARGV[2] == '' then redis.call('SET', KEYS[1], ARGV[1])
      else redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) end
      return redis.call('PUBLISH', ARGV[3], ARGV[4])
      """)

    /// Tells the count of a large channel, from one node of all: that one gets the number, the others 0.
    ///
    /// KEYS: subscribers by node, a mark. ARGV: bus, channel, text before a count, text after it, milliseconds.
    static let tellCount = RedisScript(
      common + """
        if not redis.call('SET', KEYS[2], '1', 'NX', 'PX', ARGV[5]) then return 0 end
        local n = total(KEYS[1])
        local text = ARGV[3] .. n .. ARGV[4]
        redis.call('PUBLISH', ARGV[1], f('m') .. f(ARGV[2]) .. f('0') .. f('') .. f(text))
        return n
        """)

    /// Counts connections of a user in.
    ///
    /// KEYS: connections by user, the same of the node. ARGV: answers' channel, request, users' channel, user, socket,
    /// word of its coming, connections, end of the lease, the watched users. Returns -1 when that is over.
    package static let signIn = RedisScript(
      common + """
        if late(ARGV[8]) then return -1 end
        local amount = tonumber(ARGV[7])
        redis.call('HINCRBY', KEYS[2], ARGV[4], amount)
        local isNew = redis.call('HINCRBY', KEYS[1], ARGV[4], amount) == amount
        local answer = f('s') .. f(ARGV[2])
        for i = 9, #ARGV do
          if redis.call('HEXISTS', KEYS[1], ARGV[i]) == 1 then answer = answer .. f(ARGV[i]) end
        end
        redis.call('PUBLISH', ARGV[1], answer)
        if isNew and ARGV[6] ~= '' then
          redis.call('PUBLISH', ARGV[3], f('w') .. f(ARGV[4]) .. f(ARGV[5]) .. f(ARGV[6]))
        end
        return 1
        """)

    /// Counts connections of a user out; returns -1 when the lease is over, or nothing is known of them on the node.
    ///
    /// KEYS: connections by user, the same of the node. ARGV: users' channel, user, word of its going, connections,
    /// end of the lease, or nothing where a node is cleaned up after.
    package static let signOut = RedisScript(
      common + """
        local amount = tonumber(ARGV[4])
        if late(ARGV[5]) or redis.call('HEXISTS', KEYS[2], ARGV[2]) == 0 then return -1 end
        if redis.call('HINCRBY', KEYS[2], ARGV[2], -amount) <= 0 then redis.call('HDEL', KEYS[2], ARGV[2]) end
        if redis.call('HINCRBY', KEYS[1], ARGV[2], -amount) > 0 then return 0 end
        redis.call('HDEL', KEYS[1], ARGV[2])
        redis.call('PUBLISH', ARGV[1], f('w') .. f(ARGV[2]) .. f('') .. f(ARGV[3]))
        return 1
        """)

    /// Begins a lease; returns its end by Redis' clock, in milliseconds.
    ///
    /// KEYS: the lease, all nodes. ARGV: its content, its milliseconds, the node.
    package static let begin = RedisScript(
      common + """
        redis.call('SADD', KEYS[2], ARGV[3])
        redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
        return clock() + tonumber(ARGV[2])
        """)

    /// Renews a lease; returns its new end, 0 where it has run out.
    ///
    /// KEYS: the lease. ARGV: its content, its milliseconds, its former end.
    package static let beat = RedisScript(
      common + """
        if late(ARGV[3]) or redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
        local left = redis.call('PTTL', KEYS[1])
        if left > tonumber(ARGV[2]) then return clock() + left end
        redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
        return clock() + tonumber(ARGV[2])
        """)

    /// Counts what an app sends within a second, unless it is too much.
    ///
    /// KEYS: the events and the bytes of this second. ARGV: events, bytes, their limits, or nothing for none. Returns 1 or 2 for the limit that is passed, 0 for none.
    static let admit = RedisScript(
      """
      local second = redis.call('TIME')[1]
      for i = 1, 2 do
        local key = KEYS[i]
        if redis.call('HGET', key, 's') ~= second then redis.call('DEL', key) end
        local used = tonumber(redis.call('HGET', key, 'n') or '0')
        if ARGV[i + 2] ~= '' and tonumber(ARGV[i]) > tonumber(ARGV[i + 2]) - used then return i end
      end
      for i = 1, 2 do
        redis.call('HSET', KEYS[i], 's', second)
        redis.call('HINCRBY', KEYS[i], 'n', ARGV[i])
        redis.call('PEXPIRE', KEYS[i], 2000)
      end
      return 0
      """)
  }
#endif
