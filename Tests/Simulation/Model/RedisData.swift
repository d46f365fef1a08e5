/// The keys of a Redis with their values and their expiry times.
struct RedisData: Sendable {
  private(set) var strings: [RedisName: [UInt8]] = [:]
  private var hashes: [RedisName: RedisHash] = [:]
  private(set) var sets: [RedisName: Set<RedisName>] = [:]
  private var sortedSets: [RedisName: [(score: Int64, member: RedisName)]] = [:]
  private(set) var streams: [RedisName: [(serial: Int64, time: Int64, text: [UInt8])]] = [:]
  private var expiries: [RedisName: Int64] = [:]
  private var nextExpiry = Int64.max

  // MARK: Keys

  /// Removes expired keys: Redis keeps a key until the millisecond after its last one.
  mutating func expire(at now: Int64) {
    guard nextExpiry < now else { return }
    nextExpiry = Int64.max
    for (key, expiry) in expiries {
      if expiry < now { remove(key) } else { nextExpiry = min(nextExpiry, expiry) }
    }
  }

  func has(_ key: RedisName) -> Bool {
    strings[key] != nil || hashes[key] != nil || sets[key] != nil || sortedSets[key] != nil
      || streams[key] != nil
  }

  @discardableResult
  mutating func remove(_ key: RedisName) -> Bool {
    let had = has(key)
    (strings[key], hashes[key], sets[key], sortedSets[key]) = (nil, nil, nil, nil)
    streams[key] = nil
    expiries[key] = nil
    return had
  }

  mutating func setExpiry(of key: RedisName, to time: Int64) {
    guard has(key) else { return }
    expiries[key] = time
    nextExpiry = min(nextExpiry, time)
  }

  /// Returns the key's time to live in milliseconds, -1 for a key without an expiry, -2 for no key.
  func timeLeft(of key: RedisName, at now: Int64) -> Int64 {
    guard has(key) else { return -2 }
    return expiries[key].map { max($0 - now, 0) } ?? -1
  }

  // MARK: Strings

  /// - Parameter expiry: Expiry time; `nil` for never.
  mutating func set(_ key: RedisName, to value: [UInt8], until expiry: Int64? = nil) {
    expiries[key] = nil
    strings[key] = value
    if let expiry { setExpiry(of: key, to: expiry) }
  }

  mutating func increment(_ key: RedisName) -> Int64 {
    let number = (strings[key].flatMap(Int64.init(decimal:)) ?? 0) + 1
    strings[key] = Array(String(number).utf8)
    return number
  }

  // MARK: Hashes

  func entries(of key: RedisName) -> [(field: RedisName, value: RedisHash.Value)] {
    hashes[key]?.entries ?? []
  }

  func field(_ field: RedisName, of key: RedisName) -> RedisHash.Value? { hashes[key]?[field] }

  func fieldCount(of key: RedisName) -> Int { hashes[key]?.count ?? 0 }

  /// Returns a page of a hash, as `HSCAN` does.
  func page(
    of key: RedisName, from cursor: UInt64, count: Int
  ) -> (entries: [(field: RedisName, value: RedisHash.Value)], next: UInt64) {
    hashes[key]?.page(from: cursor, count: count) ?? ([], 0)
  }

  mutating func setField(_ field: RedisName, of key: RedisName, to value: RedisHash.Value) {
    hashes[key, default: RedisHash()][field] = value
  }

  mutating func increment(_ field: RedisName, of key: RedisName, by amount: Int64) -> Int64 {
    let number = (hashes[key]?[field]?.number ?? 0) &+ amount
    setField(field, of: key, to: .number(number))
    return number
  }

  /// Removes a field, and the key with its last field; returns false if there was no such field.
  @discardableResult
  mutating func removeField(_ field: RedisName, of key: RedisName) -> Bool {
    guard hashes[key]?[field] != nil else { return false }
    hashes[key]?[field] = nil
    if fieldCount(of: key) == 0 { remove(key) }
    return true
  }

  // MARK: Sets

  /// Returns false if the member was in the set.
  mutating func add(_ member: RedisName, to key: RedisName) -> Bool {
    sets[key, default: []].insert(member).inserted
  }

  /// Returns false if the member was not in the set.
  mutating func take(_ member: RedisName, from key: RedisName) -> Bool {
    guard sets[key]?.remove(member) != nil else { return false }
    if sets[key]?.isEmpty == true { remove(key) }
    return true
  }

  // MARK: Streams

  /// Keeps all entries: operations read fewer of the last ones than Redis keeps.
  mutating func append(_ text: [UInt8], _ serial: Int64, to key: RedisName, at time: Int64) {
    streams[key, default: []].append((serial, time, text))
  }

  // MARK: Sorted sets

  /// The members, by score, then by bytes.
  func ranked(_ key: RedisName) -> [(score: Int64, member: RedisName)] { sortedSets[key] ?? [] }

  mutating func rank(_ member: RedisName, of key: RedisName, at score: Int64) {
    removeRanked(member, of: key)
    var all = ranked(key)
    let place = all.firstIndex { ($0.score, $0.member) > (score, member) } ?? all.endIndex
    all.insert((score, member), at: place)
    sortedSets[key] = all
  }

  /// Returns false if the member was not in the sorted set.
  @discardableResult
  mutating func removeRanked(_ member: RedisName, of key: RedisName) -> Bool {
    guard let index = sortedSets[key]?.firstIndex(where: { $0.member == member }) else {
      return false
    }
    sortedSets[key]?.remove(at: index)
    if ranked(key).isEmpty { remove(key) }
    return true
  }
}

extension Int64 {
  /// Parses decimal digits with an optional minus; `nil` for other bytes and on overflow.
  init?(decimal bytes: [UInt8]) {
    guard let number = Int64(String(decoding: bytes, as: UTF8.self)) else { return nil }
    self = number
  }
}
