"""What the servers keep in Redis, by the names that docs/cluster.md tells.

The HTTP API does not tell how many sockets a member has: a wrong number shows only when the member's last socket goes,
maybe many faults later. So it is read here.
"""

import collections
import json

import signing

PREFIX = f"pusher-cli:0:{signing.APP_ID}:"
READ = f"""
local out = {{}}
for _, key in ipairs(redis.call('KEYS', '{PREFIX}*')) do
  if redis.call('TYPE', key).ok == 'hash' then
    local pairs = redis.call('HGETALL', key)
    local fields = {{}}
    for i = 1, #pairs, 2 do fields[pairs[i]] = pairs[i + 1] end
    out[key] = fields
  else out[key] = {{}} end
end
return cjson.encode(out)
"""


class Store:
    def __init__(self, redis):
        self.redis = redis

    async def read(self):
        text = await self.redis.command("--raw", "EVAL", READ, "0", quietly=True)
        try:
            return json.loads(text)
        except ValueError:
            return None

    async def differences(self, picture):
        keys = await self.read()
        if keys is None:
            return ["redis: no answer"]
        found = []
        for channel in sorted(set(picture.sockets) | {key.split("{")[1].split("}")[0] for key in keys if "{" in key}):
            begin = f"{PREFIX}{{{channel}}}:"
            sockets = sum(int(one) for one in keys.get(begin + "nodes", {}).values())
            if sockets != picture.sockets[channel]:
                found.append(f"redis: sockets on {channel}: got {sockets}, expected {picture.sockets[channel]}")
            found += self.of_users(channel, keys, begin, picture)
        return found

    def of_users(self, channel, keys, begin, picture):
        wanted = {user: number for (name, user), number in picture.connections.items() if name == channel}
        users = {user: int(number) for user, number in keys.get(begin + "users", {}).items()}
        by_node = collections.Counter()
        for place, number in keys.get(begin + "connections", {}).items():
            by_node[place.partition("|")[2]] += int(number)
        for what, got in (("users", users), ("connections", dict(by_node))):
            for user in sorted(set(got) | set(wanted)):
                if got.get(user, 0) != wanted.get(user, 0):
                    yield (f"redis: sockets of {user} on {channel}, by its {what}: got {got.get(user, 0)}, "
                           f"expected {wanted.get(user, 0)}")

    async def left(self):
        """The keys of nodes that are gone, which nobody takes away any more."""
        keys = await self.read() or {}
        nodes = set((await self.redis.command("--raw", "SMEMBERS", PREFIX + "nodes", quietly=True)).split())
        return sorted(key for key in keys if key.startswith(PREFIX + "node:")
                      and key[len(PREFIX + "node:"):].split(":")[0] not in nodes and not key.endswith(":reaped"))
