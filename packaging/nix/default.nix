# The Nix expression: takes the program from the tarball of a release, and links it to the libraries
# of nixpkgs. Many releases of nixpkgs lack Swift 6.2, which a build needs.
#
# A template: Nix refuses it as it is. The address and the checksum of the tarball exist only after
# a release. Then scripts/package.sh formulas writes the expression, with both in place of the words
# in capitals between @.
#
# Checked: the syntax (nix-instantiate --parse), and the version. Not checked: a build by Nix.
{
  pkgs ? import <nixpkgs> { },
}:

pkgs.stdenv.mkDerivation rec {
  pname = "pusher-cli";
  version = "1.0.0";

  src = pkgs.fetchurl {
    url = "@ADDRESS@/pusher-cli-${version}-linux-x86_64.tar.gz";
    sha256 = "@TARBALL_SHA256@";
  };

  nativeBuildInputs = [
    pkgs.autoPatchelfHook
    pkgs.installShellFiles
  ];
  buildInputs = [
    pkgs.openssl
    pkgs.zlib
    pkgs.stdenv.cc.cc.lib
  ];
  dontBuild = true;

  installPhase = ''
    runHook preInstall
    install -D -m 755 pusher-cli $out/bin/pusher-cli
    installManPage pusher-cli.1
    installShellCompletion --bash --name pusher-cli completions/pusher-cli.bash
    installShellCompletion --zsh --name _pusher-cli completions/_pusher-cli
    installShellCompletion --fish --name pusher-cli.fish completions/pusher-cli.fish
    install -D -m 644 -t $out/share/licenses/pusher-cli LICENSE THIRD-PARTY-NOTICES
    runHook postInstall
  '';

  meta = {
    description = "Print the events of Pusher channels and event streams as JSON lines";
    homepage = "@ADDRESS@";
    license = pkgs.lib.licenses.mit;
    mainProgram = "pusher-cli";
    platforms = [ "x86_64-linux" ];
    sourceProvenance = [ pkgs.lib.sourceTypes.binaryNativeCode ];
  };
}
