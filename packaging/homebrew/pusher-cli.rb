# The Homebrew formula: builds the program from the sources of a release.
#
# A template: Homebrew refuses it as it is. The address and the checksum of the sources exist only
# after a release. Then scripts/package.sh formulas writes the formula, with both in place of the
# words in capitals between @.
#
# Checked: the syntax (ruby -c), and the version. Not checked: a build by Homebrew.
class PusherCli < Formula
  desc "Print the events of Pusher channels and event streams as JSON lines"
  homepage "@ADDRESS@"
  url "@ADDRESS@/pusher-cli-1.0.0.tar.gz"
  version "1.0.0"
  sha256 "@SOURCE_SHA256@"
  license "MIT"

  depends_on "pkgconf" => :build
  depends_on "hiredis"
  depends_on "libsodium"
  depends_on "openssl@3"

  uses_from_macos "swift" => :build, since: :tahoe # Swift 6.2
  uses_from_macos "zlib"

  on_macos do
    depends_on macos: :sequoia
  end

  def install
    arguments = ["-c", "release", "--product", "pusher-cli", "--disable-sandbox"]
    arguments << "--static-swift-stdlib" if OS.linux?
    system "swift", "build", *arguments
    bin.install ".build/release/pusher-cli"
    man1.install "man/pusher-cli.1"
    generate_completions_from_executable(bin/"pusher-cli", "completion")
  end

  test do
    assert_equal "pusher-cli #{version}", shell_output("#{bin}/pusher-cli --version").chomp
    assert_match "key", shell_output("#{bin}/pusher-cli config subscribe orders --key local")
  end
end
