#!/bin/sh
# Checks that a package outside can depend on the library by version: a copy of the repository gets
# the version's tag, and a package that names it by a git URL resolves, builds and runs.
#
#   scripts/check-dependency.sh
set -eu
cd "$(dirname "$0")/.."
# shellcheck source=scripts/ending.sh
. scripts/ending.sh

swift=${SWIFT:-swift}
version=$(scripts/version.sh)
temporary=$(mktemp -d)
origin=$temporary/pusher-cli
user=$temporary/user

git clone --quiet --no-local . "$origin"
git -C "$origin" -c user.name=check -c user.email=check@localhost tag --force "v$version" HEAD

mkdir -p "$user/Sources/user"
cat >"$user/Package.swift" <<END
// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "user",
  platforms: [.macOS(.v15)],
  dependencies: [.package(url: "file://$origin", from: "$version")],
  targets: [
    .executableTarget(
      name: "user", dependencies: [.product(name: "PusherCore", package: "pusher-cli")])
  ]
)
END
cat >"$user/Sources/user/main.swift" <<'END'
import PusherCore

let options = PusherClientOptions(host: .host("127.0.0.1"), port: 6001, useTLS: false)
let pusher = Pusher(key: "local", options: options)
print(pusher.subscribe("orders").name)
END
# The cache of the user's own packages stays as it is.
"$swift" build --quiet --package-path "$user" --cache-path "$temporary/cache" </dev/null
said=$("$user/.build/debug/user")
if [ "$said" != orders ]; then
  echo "check-dependency: the user's program printed '$said'" >&2
  exit 1
fi
echo "check-dependency: a package that names PusherCore from $version by a git URL builds and runs"
