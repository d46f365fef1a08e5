"""The engines, each the real one on 127.0.0.1: how it starts, is taken down, comes back, and what it holds."""

import asyncio
import glob
import pathlib
import re
import signal
import subprocess
import tempfile

from stage import Failure, Process, Stage, answers, free_port, unprivileged, wait

PATH = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "LANG": "C.UTF-8"}


class Engine:
    """An engine in a folder of its own."""

    name = ""
    down = "kill -9"
    inside = []

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=Stage.base))
        self.environment = {}
        self.process = None

    def start(self):
        raise NotImplementedError

    def stored(self):
        """The lines that it holds, in its order."""
        raise NotImplementedError

    def take_down(self):
        self.process.kill()

    def bring_back(self):
        self.start()

    def check(self):
        """What else must be so at the end."""

    def close(self):
        if self.process:
            self.process.end()

    def inside_of(self, stage):
        """The words before a command that is to find the engine, and run in the stage's folder."""
        return [*self.inside, f"--wd={stage.folder}"] if self.inside else []


class Redis(Engine):
    name = "Redis"

    def __init__(self):
        super().__init__()
        self.port = free_port()
        self.environment = {"REDIS_URL": f"redis://127.0.0.1:{self.port}"}

    def start(self):
        self.process = Process(
            ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder),
             "--appendonly", "yes", "--appendfsync", "always", "--save", ""], self.folder, PATH)
        wait("Redis answers", lambda: self.ask("PING") == b"PONG\n")

    def ask(self, *words):
        return subprocess.run(["redis-cli", "-e", "-p", str(self.port), *words], capture_output=True,
                              check=False, env=PATH).stdout

    def stored(self):
        # Bare answers: the id, the field, the value, each a line. A value has no line end.
        return self.ask("XRANGE", "events", "-", "+").split(b"\n")[2::3]


class PostgreSQL(Engine):
    name = "PostgreSQL"

    def __init__(self, schema):
        super().__init__()
        self.port = free_port()
        self.schema = schema
        self.words, self.folder = unprivileged("postgres")
        self.programs = sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1]
        self.environment = {"PGHOST": "127.0.0.1", "PGPORT": str(self.port), "PGUSER": "shop", "PGDATABASE": "postgres"}
        subprocess.run(
            [*self.words, f"{self.programs}/initdb", "-D", f"{self.folder}/data", "-U", "shop", "-A", "trust",
             "-E", "UTF8", "--no-sync"], check=True, capture_output=True, env=PATH)

    def start(self):
        def try_it():
            # What the killed one has started may still hold its memory.
            if self.process is None or self.process.is_over():
                self.process = Process(
                    [*self.words, f"{self.programs}/postgres", "-D", f"{self.folder}/data", "-p", str(self.port),
                     "-k", str(self.folder), "-c", "listen_addresses=127.0.0.1"], self.folder, PATH,
                    ending=signal.SIGINT)
            return self.ask("SELECT 1").stdout == b"1\n"

        wait("PostgreSQL answers", try_it)
        if self.schema:
            answer = self.ask_file(self.schema)
            self.schema = None
            if answer.returncode != 0:
                raise Failure(f"events.sql: {answer.stderr}")

    def ask(self, text):
        return subprocess.run(["psql", "-qAtX", "-c", text], capture_output=True, check=False,
                              env=PATH | self.environment)

    def ask_file(self, path):
        return subprocess.run(["psql", "-qX", "-v", "ON_ERROR_STOP=1", "-f", path], capture_output=True,
                              check=False, env=PATH | self.environment)

    def check(self):
        """Each line is jsonb too, but for a NUL, which jsonb cannot hold, and a torn line."""
        wrong = self.ask(r"""SELECT count(*) FROM events WHERE (event IS NULL) <>
            (line LIKE '%\\u0000%' OR line NOT LIKE '%}') OR event->>'channel' <> 'orders'""").stdout
        if wrong != b"0\n":
            raise Failure(f"PostgreSQL: jsonb of another shape than the line, or none: {wrong}")

    def stored(self):
        return self.ask("SELECT line FROM events ORDER BY number").stdout.split(b"\n")[:-1]


class NATS(Engine):
    name = "NATS JetStream"

    def __init__(self):
        super().__init__()
        self.port = free_port()
        self.environment = {"NATS_URL": f"nats://127.0.0.1:{self.port}"}
        self.is_new = True

    def start(self):
        self.process = Process(
            ["nats-server", "-a", "127.0.0.1", "-p", str(self.port), "-js", "-sd", str(self.folder)],
            self.folder, PATH)
        wait("NATS listens", lambda: answers(self.port))
        if self.is_new:
            asyncio.run(self.make())
            self.is_new = False

    async def connect(self):
        import nats
        return await nats.connect(self.environment["NATS_URL"], allow_reconnect=False)

    async def make(self):
        client = await self.connect()
        await client.jetstream().add_stream(name="EVENTS", subjects=["events"])
        await client.close()

    async def read(self):
        client = await self.connect()
        try:
            stream = client.jetstream()
            state = (await stream.stream_info("EVENTS")).state
            return [(await stream.get_msg("EVENTS", number)).data for number in range(1, state.last_seq + 1)]
        finally:
            await client.close()

    def stored(self):
        return asyncio.run(self.read())


class Kafka(Engine):
    """librdkafka's own cluster, which keeps its topics in memory: it is stopped, and goes on."""

    name = "Kafka"
    down = "stopped"

    def __init__(self):
        super().__init__()
        self.brokers = None

    def start(self):
        self.process = Process(
            ["kcat", "-P", "-b", "none", "-t", "unused", "-d", "mock", "-X", "test.mock.num.brokers=1"],
            self.folder, PATH, stdin=subprocess.PIPE)

        def find():
            return re.search(r"bootstrap\.servers=(\S+)", "\n".join(self.process.told()))

        self.brokers = wait("the brokers listen", find).group(1)
        self.environment["KAFKA_BROKERS"] = self.brokers
        # Makes the topic.
        subprocess.run(["kcat", "-L", "-t", "events", "-b", self.brokers], capture_output=True, check=True, env=PATH)

    def stored(self):
        answer = subprocess.run(
            ["kcat", "-C", "-q", "-t", "events", "-b", self.brokers, "-o", "beginning", "-e", "-f", "%k\t%s\n"],
            capture_output=True, check=False, env=PATH, timeout=30)
        pairs = [line.split(b"\t", 1) for line in answer.stdout.split(b"\n")[:-1]]
        if any(key != b"orders" for key, _ in pairs):
            raise Failure("a key is not the channel")
        return [line for _, line in pairs]

    def take_down(self):
        self.process.signal(signal.SIGSTOP)

    def bring_back(self):
        self.process.signal(signal.SIGCONT)


class Syslog(Engine):
    name = "rsyslog"

    def __init__(self, configuration, events):
        super().__init__()
        self.configuration = configuration
        self.port = free_port()
        self.environment = {"SYSLOG_PORT": str(self.port)}
        self.own = {"SPOOL": str(self.folder), "STORE": str(self.folder / "store"), "EVENTS": str(events)}

    def start(self):
        identity = self.folder / "pid"
        identity.unlink(missing_ok=True)
        self.process = Process(["rsyslogd", "-n", "-f", str(self.configuration), "-i", str(identity)],
                               self.folder, PATH | self.environment | self.own)
        wait("rsyslog listens", lambda: answers(self.port))

    def stored(self):
        place = self.folder / "store"
        return place.read_bytes().split(b"\n")[:-1] if place.exists() else []


class Journal(Engine):
    """systemd-journald by itself, in a mount namespace with a /run of its own."""

    name = "the journal"

    def __init__(self):
        super().__init__()
        self.starts = 0
        ready = self.folder / "ready"
        mounts = ("mount -t tmpfs tmpfs /run && mount -t tmpfs tmpfs /var/log && "
                  f"mkdir -p /run/systemd/journal && touch {ready} && exec sleep 900")
        self.holder = Process(["unshare", "--mount", "sh", "-c", mounts], self.folder, PATH)
        wait("a namespace", lambda: ready.exists() or self.holder.is_over())
        if self.holder.is_over():
            raise NotImplementedError(" ".join(self.holder.told()))
        self.inside = ["nsenter", f"--mount=/proc/{self.holder.pid}/ns/mnt"]

    def start(self):
        self.process = Process([*self.inside, "/lib/systemd/systemd-journald"], self.folder, PATH)
        self.starts += 1
        name = f"ready-{self.starts}"

        def takes_entries():
            # logger reports success also where no socket is, so only the entry itself tells.
            self.run("sh", "-c", f"printf 'MESSAGE=x\nSYSLOG_IDENTIFIER={name}\n' | logger --journald")
            return self.entries(name)

        wait("the journal takes entries", takes_entries)

    def entries(self, name):
        self.run("journalctl", "--sync")
        return self.run("journalctl", "--no-pager", "-qa", "-o", "cat", "-t", name).stdout.split(b"\n")[:-1]

    def run(self, *words):
        return subprocess.run([*self.inside, *words], capture_output=True, check=False, env=PATH)

    def stored(self):
        return self.entries("pusher-cli")

    def close(self):
        super().close()
        self.holder.end()


class S3(Engine):
    """moto's server, which keeps its objects in memory: it is stopped, and goes on."""

    name = "S3"
    down = "kill -9"

    def __init__(self):
        super().__init__()
        self.port = free_port()
        self.environment = {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}", "AWS_ACCESS_KEY_ID": "testing",
            "AWS_SECRET_ACCESS_KEY": "testing", "AWS_DEFAULT_REGION": "us-east-1", "BUCKET": "events",
            "AWS_MAX_ATTEMPTS": "1", "AWS_EC2_METADATA_DISABLED": "true"}
        # What the killed one held.
        self.kept = {}

    def client(self):
        import boto3
        return boto3.client("s3", endpoint_url=self.environment["AWS_ENDPOINT_URL"], region_name="us-east-1",
                            aws_access_key_id="testing", aws_secret_access_key="testing")

    def start(self):
        self.process = Process([str(Stage.python), "-m", "moto.server", "-H", "127.0.0.1", "-p", str(self.port)],
                               self.folder, PATH)
        wait("S3 listens", lambda: answers(self.port))
        self.client().create_bucket(Bucket="events")

    def objects(self):
        client = self.client()
        found = dict(self.kept)
        for entry in client.list_objects_v2(Bucket="events").get("Contents", []):
            body = client.get_object(Bucket="events", Key=entry["Key"])["Body"].read()
            found[entry["Key"]] = body
        return found

    def take_down(self):
        self.kept = self.objects()
        super().take_down()

    def stored(self):
        found = self.objects()
        return [line for key in sorted(found) for line in found[key].split(b"\n")[:-1]]
