"""Runs the recipes for engines as docs/recipes.md prints them, and counts what each engine holds at the end.

    recipes.py PROGRAM [NAME...]     names: those of PLAYS, all unless given
"""

import pathlib
import sys
import time

import engines
import faults
from stage import Failure, Page, Stage, wait

EVENTS, RATE = 150, 75


def report(name, way, count, told):
    print(f"recipes: {name}, {way}: {count}, told {told}", flush=True)


def through(stage, engine, subject, is_over=lambda: False, hears_failure=True):
    """Sends events while the engine goes down in the middle, and waits until the last one has had its turn."""
    first = stage.publish(EVENTS // 2, RATE)
    wait("the engine holds the first events", lambda: len(engine.stored()) >= 20, pause=0.2)
    engine.take_down()
    stage.await_published(first)
    second = stage.publish(EVENTS - EVENTS // 2, RATE)
    if hears_failure:
        wait("the failure is told", lambda: subject.told() or subject.is_over())
    wait("more events come meanwhile", lambda: len(stage.heard()) >= EVENTS * 0.8)
    engine.bring_back()
    stage.await_published(second)
    last = stage.heard()[-1]
    wait("the last event is there", lambda: is_over() or last in engine.stored(), pause=0.3)
    return stage.count(engine.stored())


def direct(page, make, files, block, way, **wanted):
    """A recipe that hands events to the engine as they come."""
    engine = make()
    engine.start()
    stage = Stage(page, engine.environment)
    page.install(stage.folder, *files)
    subject = stage.start(page.take(block), inside=engine.inside_of(stage))
    stage.await_subscribers(2)
    count = through(stage, engine, subject, subject.is_over)
    report(engine.name, way, count, f"{len(subject.told())} lines")
    stage.close()
    engine.check()
    engine.close()
    count.expect(**wanted)


def kept(page, make, files, writer, block, **wanted):
    """A recipe that goes by a file and a kept place."""
    engine = make()
    engine.start()
    stage = Stage(page, engine.environment)
    page.install(stage.folder, "hand-over.sh", *files)
    # What a kill left of a line: it has to go through too.
    torn = b'{"event":"torn'
    name = writer.split()[-1]
    (stage.folder / name).write_bytes(b"orders\t" + torn if name.endswith(".tsv") else torn)
    stage.start(page.take(writer))
    subject = stage.start(page.take(block), inside=engine.inside_of(stage))
    stage.await_subscribers(2)
    count = through(stage, engine, subject)
    report(engine.name, "--output-file", count, f"{len(subject.told())} lines")
    stage.close()
    engine.check()
    engine.close()
    if count.other != [torn]:
        raise Failure(f"{engine.name}: the torn line should be there, and no other: {count.other}")
    count.other = []
    count.expect(**wanted)


FILE = "--output-file events.jsonl"
SOME = range(1, EVENTS)
FEW = range(0, EVENTS)


def redis(page):
    direct(page, engines.Redis, ["to-redis.sh"], "--exec ./to-redis.sh", "--exec", lost=SOME, doubled=0, in_order=True)
    kept(page, engines.Redis, ["to-redis.sh"], FILE, "hand-over.sh events.jsonl ./to-redis.sh", lost=0, doubled=FEW)


def postgresql(page):
    folder = pathlib.Path(Stage.base)
    page.install(folder, "events.sql")

    def make():
        return engines.PostgreSQL(str(folder / "events.sql"))

    files = ["to-postgres.sh"]
    direct(page, make, files, "--exec ./to-postgres.sh", "--exec", lost=SOME, doubled=0, in_order=True)
    kept(page, make, files, FILE, "hand-over.sh events.jsonl ./to-postgres.sh", lost=0, doubled=FEW)


def nats(page):
    direct(page, engines.NATS, ["to-nats.py"], "subscribe orders | ./to-nats.py", "pipe", lost=SOME, doubled=0)
    kept(page, engines.NATS, ["to-nats.py"], FILE, "hand-over.sh events.jsonl ./to-nats.py", lost=0, doubled=0,
         in_order=True)


def kafka(page):
    direct(page, engines.Kafka, ["to-kafka.sh"], "cat; } | ./to-kafka.sh", "--exec", lost=FEW, doubled=FEW)
    kept(page, engines.Kafka, ["to-kafka.sh"], "--output-file events.tsv", "hand-over.sh events.tsv ./to-kafka.sh",
         lost=0, doubled=FEW)


def rsyslog(page):
    folder = Stage.base
    page.install(folder, "pusher-cli.conf")
    configuration = folder / "pusher-cli.conf"
    direct(page, lambda: engines.Syslog(configuration, folder / "nothing"), [], "| logger --tcp", "pipe", lost=SOME, doubled=0)

    # Without a reader of ours: rsyslog keeps the place in the file by itself.
    place = folder / "rsyslog"
    place.mkdir()
    engine = engines.Syslog(configuration, place / "events.jsonl")
    engine.start()
    stage = Stage(page, engine.environment)
    writer = stage.start(["sh", "-c", f"cd {place}\n{page.take(FILE)}"])
    stage.await_subscribers(2)
    count = through(stage, engine, writer, hears_failure=False)
    report(engine.name, "--output-file", count, f"{len(writer.told())} lines")
    stage.close()
    engine.close()
    count.expect(lost=0, doubled=FEW)


def journal(page):
    try:
        engines.Journal().close()
    except NotImplementedError as reason:
        print(f"recipes: the journal: not run, since there is no mount namespace here: {reason}")
        for part in ("--exec ./to-journal.sh", "hand-over.sh events.jsonl ./to-journal.sh"):
            page.take(part)
        page.install(Stage.base, "to-journal.sh")
        return
    files = ["to-journal.sh"]
    direct(page, engines.Journal, files, "--exec ./to-journal.sh", "--exec", lost=SOME, doubled=0, in_order=True)
    # logger gets no answer: the ten entries that the socket holds, and the one being read, go with a journald that is killed.
    kept(page, engines.Journal, files, FILE, "hand-over.sh events.jsonl ./to-journal.sh", lost=range(0, 12), doubled=FEW)


def s3(page):
    engine = engines.S3()
    engine.start()
    stage = Stage(page, engine.environment)
    page.install(stage.folder, "upload-hour.sh")
    stage.start(page.take("--output-file hour.jsonl"))
    stage.await_subscribers(2)
    hour = stage.folder / "hour.jsonl"
    told, statuses = 0, []
    for number, moment in enumerate(("up", "down", "up", "down", "up")):
        if moment == "down":
            engine.take_down()
        elif engine.process.is_over():
            engine.bring_back()
        # The file is closed among the events of its hour, but for the last one.
        publisher = stage.publish(EVENTS // 5, 25)
        wait("events of this hour come", lambda: hour.exists() and hour.stat().st_size > 0)
        if number == 4:
            stage.await_published(publisher)
        upload = stage.start(page.take("./upload-hour.sh"))
        wait("the hour is uploaded or not", upload.is_over)
        stage.await_published(publisher)
        told += len(upload.told())
        statuses.append(upload.popen.returncode)
    count = stage.count(engine.stored())
    report(engine.name, f"{len(statuses)} files, status {statuses}", count, f"{told} lines")
    stage.close()
    engine.close()
    count.expect(lost=0, doubled=0, in_order=True)
    if [status != 0 for status in statuses] != [False, True, False, True, False]:
        raise Failure(f"the statuses of upload-hour.sh: {statuses}")


PLAYS = {
    "redis": redis, "postgresql": postgresql, "nats": nats, "kafka": kafka, "rsyslog": rsyslog, "journal": journal,
    "s3": s3, "forwarders": faults.forwarders, "faults": faults.table, "kills": faults.kills,
}


def main():
    program, names = sys.argv[1], sys.argv[2:]
    Stage.set_up(program, sys.executable)
    page = Page()
    began = time.monotonic()
    try:
        for name in names or PLAYS:
            PLAYS[name](page)
        if not names and page.unused():
            raise Failure(f"blocks of the page that nobody has run: {page.unused()}")
    except Failure as failure:
        for one in Stage.running:
            for line in one.told()[-3:]:
                print(f"recipes:   {line[:200]}", file=sys.stderr)
        print(f"recipes: {failure}", file=sys.stderr)
        sys.exit(1)
    print(f"recipes: all as the page says, in {time.monotonic() - began:.0f} s")


main()
