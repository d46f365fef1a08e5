"""Names the systems of the wheel: every Python 3, this machine's processor, glibc or newer."""

import os
import platform

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class SystemsHook(BuildHookInterface):
    def initialize(self, version, build_data):
        glibc = os.environ.get("PUSHER_CLI_GLIBC")
        if not glibc:
            raise RuntimeError("no PUSHER_CLI_GLIBC: build the wheel with scripts/package.sh wheel")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-manylinux_{glibc.replace('.', '_')}_{platform.machine()}"
