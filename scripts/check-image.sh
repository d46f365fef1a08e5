#!/bin/sh
# Builds the image of Containerfile with buildah, with a root file system in place of the Swift
# image, and checks the result.
#
#   scripts/check-image.sh PROGRAM ROOT
#
# The program is not built again: ROOT, a bare Debian, gets PROGRAM, installs the packages of
# Containerfile and makes the image.
# Status 77: buildah cannot build here.
set -eu

program=$(realpath "$1")
bare=$(realpath "$2")
cd "$(dirname "$0")/.."
. scripts/checking.sh

# This machine's own images are neither used nor changed.
export BUILDAH_ISOLATION=chroot
build() {
  buildah --root "$work/store" --runroot "$work/run" --storage-driver vfs "$@"
}

mkdir "$work/probe" "$work/source"
printf 'FROM scratch\nCOPY file /\n' >"$work/probe/Containerfile"
echo 1 >"$work/probe/file"
build build --quiet "$work/probe" >"$work/said" 2>&1 || {
  echo "buildah cannot build here: $(tail -n 1 "$work/said")" >&2
  exit 77
}

git ls-files --cached --others --exclude-standard | tar --create --files-from=- | tar --extract --directory "$work/source"
install -D -m 755 "$program" "$work/source/dist/pusher-cli"
printf 'FROM scratch\nCOPY . /\n' >"$work/Builder"
build build --quiet --file "$work/Builder" --tag builder "$bare" >"$work/said" 2>&1 || fail "$(cat "$work/said")"
: >"$work/ignored"
build build --ignorefile "$work/ignored" --build-arg BUILDER=localhost/builder --pull-never --tag pusher-cli "$work/source" \
  >"$work/said" 2>&1 || fail "Containerfile does not build: $(tail -n 20 "$work/said")"

build inspect --type image --format \
  '{{.OCIv1.Config.User}} {{.OCIv1.Config.StopSignal}} {{.OCIv1.Config.Entrypoint}} {{len .OCIv1.RootFS.DiffIDs}}' \
  localhost/pusher-cli >"$work/said"
[ "$(cat "$work/said")" = '65532:65532 SIGTERM [/usr/bin/pusher-cli] 1' ] || fail "the image is set up as: $(cat "$work/said")"
container=$(build from --pull-never localhost/pusher-cli)
image=$(build mount "$container")
scripts/rootfs.sh "$program" "$work/root"
(cd "$work/root" && find . | sort) >"$work/expected"
(cd "$image" && find . | sort) >"$work/found"
cmp "$work/expected" "$work/found" || fail "the image has other files: $(diff "$work/expected" "$work/found")"
cmp "$program" "$image/usr/bin/pusher-cli" || fail 'the image has another program'
version=$(build run "$container" /usr/bin/pusher-cli --version 2>&1) || fail "in the image: $version"
[ "$version" = "$("$program" --version)" ] || fail "in the image --version says: $version"
say "Containerfile: built by buildah, $(du -sk "$image" | cut -f 1) KiB, $version"
