"""Who is where by the clients' own knowledge, and how servers and clients differ from it."""

import asyncio
import collections

import api


class Picture:
    """The sockets that are subscribed, confirmed and open, of those servers that count."""

    def __init__(self, clients, servers):
        self.sockets = collections.Counter()
        self.users = collections.defaultdict(set)
        # Sockets by channel and user.
        self.connections = collections.Counter()
        for client in clients:
            if client.socket_id is None or client.server not in servers:
                continue
            for one in client.subscriptions.values():
                if one.confirmed:
                    self.sockets[one.channel] += 1
                    if one.channel.startswith("presence-"):
                        self.users[one.channel].add(client.user)
                        self.connections[one.channel, client.user] += 1

    def __eq__(self, other):
        return self.sockets == other.sockets and self.connections == other.connections


class Comparison:
    def __init__(self, clients, channels, signer, kept):
        self.clients, self.channels, self.signer, self.kept = clients, channels, signer, kept

    async def differences(self, servers, everyone):
        """What is not right, in words.

        `everyone`: each client must have what it wants; else those count that are on one of `servers`.
        """
        before = Picture(self.clients, servers)
        found = [text for texts in await asyncio.gather(*(self.of_server(one, before) for one in servers))
                 for text in texts]
        found += self.of_clients(servers, everyone, before)
        if everyone and not found:
            found += await self.kept.differences(before)
        # While clients come back the picture is another one before the questions and after them.
        if not found and Picture(self.clients, servers) != before:
            found.append("clients came or went while they were compared")
        return found

    async def of_server(self, server, picture):
        ours = api.API(self.signer, server.port)
        try:
            counts = (await ours.get("/channels", info="subscription_count"))["channels"]
            users = (await ours.get("/channels", filter_by_prefix="presence-", info="user_count"))["channels"]
            found = list(compare(server.name, "channels", set(counts), set(picture.sockets)))
            found += compare(server.name, "presence channels", set(users), set(picture.users))
            for name in self.channels:
                if name.startswith("presence-"):
                    listed = await ours.get(f"/channels/{name}/users")
                    listed = sorted(one["id"] for one in listed["users"])
                    one = await ours.get(f"/channels/{name}", info="user_count")
                    wanted = sorted(picture.users[name]) if name in picture.users else []
                    found += compare(server.name, f"users of {name}", listed, wanted)
                    pairs = [(source.get("user_count", 0), len(wanted)) for source in (one, users.get(name, {}))]
                else:
                    one = await ours.get(f"/channels/{name}", info="subscription_count")
                    pairs = [(source.get("subscription_count", 0), picture.sockets[name])
                             for source in (one, counts.get(name, {}))]
                for got, wanted in pairs:
                    found += compare(server.name, f"count of {name}", got, wanted)
                found += compare(server.name, f"occupied of {name}", one["occupied"], name in picture.sockets)
        except api.NoAnswer as problem:
            return [f"{server.name}: no answer: {problem}"]
        return found

    def of_clients(self, servers, everyone, picture):
        found = []
        for client in self.clients:
            if client.server not in servers:
                if everyone and not client.is_settled:
                    found.append(f"{client.name}: is not connected")
                continue
            if everyone and not client.is_settled:
                pending = sorted(client.wanted - {n for n, one in client.subscriptions.items() if one.confirmed})
                found.append(f"{client.name} on {client.server.name}: waits for {pending or 'its connection'}")
            for one in client.subscriptions.values():
                if one.members is not None:
                    found += compare(f"{client.name} on {client.server.name}", f"members of {one.channel}",
                                     one.members, picture.users[one.channel])
        return found


def compare(who, what, got, wanted):
    if got == wanted:
        return
    if isinstance(got, set):
        extra, missing = sorted(got - wanted), sorted(wanted - got)
        yield f"{who}: {what}: too much {extra}, missing {missing}"
    else:
        yield f"{who}: {what}: got {got}, expected {wanted}"
