#if Redis
  extension RedisScripts {
    /// Maximum number of departures that ``takeDepartures`` returns, unless it is to return all.
    static let departurePortion = 100

    /// Takes the departures out that are due, or `all`; each is a row of fields: channel, `m` for a member or `v` for a
    /// vacated channel, user.
    ///
    /// KEYS: the departures. ARGV: `all`, or nothing.
    static let takeDepartures = RedisScript(
      common + """
        local limit, count = clock(), \(departurePortion)
        if ARGV[1] == 'all' then limit, count = '+inf', -1 end
        local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', limit, 'LIMIT', 0, count)
        for _, x in ipairs(due) do redis.call('ZREM', KEYS[1], x) end
        return due
        """)

    /// Holds a departure back once more, unless the user, or any subscriber, is there.
    ///
    /// KEYS: those of the channel. ARGV: channel, whether there is a user, user, milliseconds.
    static let holdAgain = RedisScript(
      common + """
        local isThere
        if ARGV[2] == '1' then isThere = redis.call('HEXISTS', KEYS[2], ARGV[3]) == 1
        else isThere = total(KEYS[1]) > 0 end
        if isThere then return 0 end
        return hold(KEYS[7], ARGV[4], ARGV[1], ARGV[2] == '1' and ARGV[3] or nil)
        """)

    /// Tries every command that the other scripts and the nodes use.
    ///
    /// KEYS: a key of the node, all nodes, those that are enrolled, connections by user, the departures. ARGV: a channel that
    /// takes a message without meaning. Returns for each command that is refused its name, a space and the error.
    package static let probe = RedisScript(
      """
      local refused = {}
      local function try(...)
        local answer = redis.pcall(...)
        if type(answer) == 'table' and answer.err then
          refused[#refused + 1] = select(1, ...) .. ' ' .. answer.err
        end
      end
      local key = KEYS[1]
      try('DEL', key)
      try('HSET', key, 'a', '1')
      try('HGET', key, 'a')
      try('HINCRBY', key, 'a', '1')
      try('HEXISTS', key, 'a')
      try('HLEN', key)
      try('HVALS', key)
      try('HGETALL', key)
      try('HDEL', key, 'a')
      try('DEL', key)
      try('SET', key, '1', 'NX', 'PX', '1000')
      try('GET', key)
      try('INCR', key)
      try('MGET', key)
      try('EXISTS', key)
      try('PTTL', key)
      try('PEXPIRE', key, '1000')
      try('DEL', key)
      try('SADD', key, 'a')
      try('SMEMBERS', key)
      try('SUNION', key)
      try('SREM', key, 'a')
      try('DEL', key)
      try('ZADD', key, '1', 'a')
      try('ZRANGEBYSCORE', key, '-inf', '1', 'LIMIT', '0', '1')
      try('ZREM', key, 'a')
      try('DEL', key)
      try('TIME')
      try('SCARD', KEYS[2])
      try('SISMEMBER', KEYS[3], 'a')
      try('HLEN', KEYS[4])
      try('ZCARD', KEYS[5])
      try('PUBLISH', ARGV[1], '1:p')
      return refused
      """)
  }
#endif
