"""Signs as an application's back end does: calls of the HTTP API and subscriptions, by Pusher's protocol."""

import hashlib
import hmac
import json
import time
import urllib.parse

APP_ID, KEY = "1", "faults"


class Signer:
    def __init__(self, secret):
        self.secret = secret.encode()

    def sign(self, text):
        return hmac.new(self.secret, text.encode(), hashlib.sha256).hexdigest()

    def target(self, method, path, parameters, body):
        """The target of a call, with the signature among its parameters."""
        path = f"/apps/{APP_ID}{path}"
        everything = {**parameters, "auth_key": KEY, "auth_timestamp": str(int(time.time())), "auth_version": "1.0"}
        if body:
            everything["body_md5"] = hashlib.md5(body).hexdigest()
        row = "&".join(f"{name}={everything[name]}" for name in sorted(everything))
        everything["auth_signature"] = self.sign(f"{method}\n{path}\n{row}")
        return f"{path}?{urllib.parse.urlencode(everything)}"

    def subscription(self, socket_id, channel, user):
        """The data of a `pusher:subscribe`."""
        data = {"channel": channel}
        if channel.startswith("presence-"):
            data["channel_data"] = json.dumps({"user_id": user, "user_info": {"name": f"User {user}"}})
            data["auth"] = f"{KEY}:{self.sign(f'{socket_id}:{channel}:' + data['channel_data'])}"
        elif channel.startswith("private-"):
            data["auth"] = f"{KEY}:{self.sign(f'{socket_id}:{channel}')}"
        return data
