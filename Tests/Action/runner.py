#!/usr/bin/env python3
"""Runs steps of a GitHub workflow as the runner does, with this folder as the Action.

  Tests/Action/runner.py FOLDER with [INPUT=VALUE...]       one step that uses the Action
  Tests/Action/runner.py FOLDER steps FILE [INPUT=VALUE...] the steps of a YAML file
  Tests/Action/runner.py FOLDER run COMMAND                 one step that runs a command
  Tests/Action/runner.py FOLDER end                         the job's end: ends the processes it left

FOLDER keeps the environment and the PATH for the steps of later calls. The Action's outputs are the
files of FOLDER/outputs. INPUT=VALUE replaces an input of each step that uses the Action. Knows only
the expressions that action.yml and docs/recipes.md use, and refuses all others. Ends with status 1
after a failed step. Needs ruamel.yaml, which check-jsonschema brings along.
"""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid

from ruamel.yaml import YAML

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXPRESSION = r"(inputs|steps)\.([\w.-]+)"


def load(path):
    return YAML(typ="safe").load(path)


def text(value):
    """Returns a YAML value as the runner passes it."""
    return json.dumps(value) if isinstance(value, bool) else str(value)


def entries(path):
    """Yields names and values of a file of outputs or variables."""
    lines = iter(path.read_text().split("\n")[:-1])
    for line in lines:
        match = re.fullmatch(r"([\w-]+)(<<|=)(.*)", line)
        if not match:
            sys.exit(f"runner: {path.name}: neither NAME=VALUE nor NAME<<MARK: {line}")
        name, kind, rest = match.groups()
        if kind == "<<":
            block = []
            for line in lines:
                if line == rest:
                    break
                block.append(line)
            else:
                sys.exit(f"runner: {path.name}: {name} has no end")
            rest = "\n".join(block)
        yield name, rest


class Runner:
    def __init__(self, folder):
        self.folder = folder
        self.state = folder / "state.json"
        known = json.loads(self.state.read_text()) if self.state.exists() else {}
        # The runner knows the processes of a job by this variable.
        self.mark = known.get("mark", f"github_{uuid.uuid4()}")
        self.environment = known.get("environment", {})
        self.path = known.get("path", [])
        (folder / "temp").mkdir(parents=True, exist_ok=True)
        self.save()

    def save(self):
        text = json.dumps({"mark": self.mark, "environment": self.environment, "path": self.path})
        # Renamed into place, because a step at the same time may read it.
        new = self.folder / f"state.{os.getpid()}"
        new.write_text(text)
        new.replace(self.state)

    def value(self, name, context):
        kind, rest = re.fullmatch(EXPRESSION, name).groups()
        if kind == "inputs":
            return context["inputs"][rest]
        step, _, output = rest.partition(".outputs.")
        return context["steps"].get(step, {}).get(output, "")

    def filled(self, value, context):
        """Replaces each expression of a value."""
        def replacement(match):
            if not re.fullmatch(EXPRESSION, match[1]):
                sys.exit(f"runner: cannot evaluate '{match[1]}'")
            return self.value(match[1], context)
        return re.sub(r"\$\{\{ *(.*?) *\}\}", replacement, text(value))

    def is_wanted(self, step, context):
        if "if" not in step:
            return True
        match = re.fullmatch(EXPRESSION + r" (==|!=) '(.*)'", step["if"])
        if not match:
            sys.exit(f"runner: cannot evaluate '{step['if']}'")
        value = self.value(f"{match[1]}.{match[2]}", context)
        return (value == match[4]) == (match[3] == "==")

    def run(self, command, variables, context):
        """Runs a step's commands in bash, and returns its outputs."""
        # Of its own, because another step may run meanwhile.
        home = pathlib.Path(tempfile.mkdtemp(prefix="step.", dir=self.folder))
        names = ["GITHUB_ENV", "GITHUB_OUTPUT", "GITHUB_PATH"]
        files = {name: home / name for name in names}
        for path in files.values():
            path.touch()
        script = home / "step.sh"
        script.write_text(command)
        environment = {
            **os.environ, **self.environment, **{name: str(path) for name, path in files.items()},
            "RUNNER_TRACKING_ID": self.mark, "RUNNER_TEMP": str(self.folder / "temp"),
            "GITHUB_ACTION_PATH": str(ROOT),
            **{name: self.filled(value, context) for name, value in variables.items()},
        }
        environment["PATH"] = os.pathsep.join([*reversed(self.path), environment["PATH"]])
        shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)]
        status = subprocess.run(shell, env=environment, stdin=subprocess.DEVNULL).returncode
        if status:
            self.save()
            print(f"runner: a step ended with status {status}", file=sys.stderr)
            sys.exit(1)
        self.environment.update(entries(files["GITHUB_ENV"]))
        self.path += files["GITHUB_PATH"].read_text().split()
        return dict(entries(files["GITHUB_OUTPUT"]))

    def use(self, given):
        """Runs the steps of action.yml, and returns its outputs."""
        folder = self.folder / "outputs"
        shutil.rmtree(folder, ignore_errors=True)
        action = load(ROOT / "action.yml")
        unknown = set(given) - set(action["inputs"])
        if unknown:
            sys.exit(f"runner: action.yml has no input '{min(unknown)}'")
        inputs = {name: text(row["default"]) for name, row in action["inputs"].items()} | given
        context = {"inputs": inputs, "steps": {}}
        for step in action["runs"]["steps"]:
            if self.is_wanted(step, context):
                outputs = self.run(step["run"], step.get("env", {}), context)
                context["steps"][step.get("id")] = outputs
        outputs = {
            name: self.filled(row["value"], context) for name, row in action["outputs"].items()}
        folder.mkdir()
        for name, value in outputs.items():
            (folder / name).write_text(value + "\n")
        return outputs

    def steps(self, steps, replaced):
        context = {"inputs": {}, "steps": {}}
        for step in steps:
            if "uses" in step:
                given = {name: text(value) for name, value in step.get("with", {}).items()}
                outputs = self.use(given | replaced)
            else:
                outputs = self.run(step["run"], step.get("env", {}), context)
            context["steps"][step.get("id")] = outputs

    def processes(self):
        """Yields the ids of the processes that the job's steps started."""
        mark = f"RUNNER_TRACKING_ID={self.mark}".encode()
        for path in pathlib.Path("/proc").glob("[0-9]*/environ"):
            try:
                if mark in path.read_bytes().split(b"\0"):
                    yield int(path.parent.name)
            except OSError:
                # The process has ended, or belongs to another user.
                continue

    def end(self):
        for process in self.processes():
            os.kill(process, signal.SIGTERM)
        limit = time.monotonic() + 10
        while any(self.processes()):
            if time.monotonic() > limit:
                sys.exit("runner: a process of the job does not end")
            time.sleep(0.05)


def main():
    folder, verb, *rest = sys.argv[1:]
    runner = Runner(pathlib.Path(folder).resolve())
    if verb == "run":
        runner.run(rest[0], {}, {})
    elif verb == "end":
        runner.end()
    elif verb == "steps":
        steps = load(pathlib.Path(rest[0]))
        runner.steps(steps, dict(word.split("=", 1) for word in rest[1:]))
    else:
        runner.use(dict(word.split("=", 1) for word in rest))
    runner.save()


if __name__ == "__main__":
    main()
