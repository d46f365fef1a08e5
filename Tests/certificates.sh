#!/bin/sh
# Makes a small certificate authority and the certificates of the TLS tests with the openssl
# program.
#
#   Tests/certificates.sh DIRECTORY
#
# DIRECTORY/root.pem is the authority that clients trust. Every other NAME.pem is a server's chain,
# its own certificate first, and NAME.key its key.
set -eu

if [ $# -ne 1 ]; then
  echo 'usage: Tests/certificates.sh DIRECTORY' >&2
  exit 2
fi
mkdir -p "$1/issued"
cd "$1"

# Fixed dates make messages with dates predictable.
past=20000101000000Z
end_of_past=20201231235959Z
future=20900115000000Z
end_of_future=20991231235959Z

cat > openssl.cnf <<'END'
[ca]
default_ca = test
[test]
database = index.txt
new_certs_dir = issued
default_md = sha256
policy = anything
unique_subject = no
copy_extensions = copy
rand_serial = yes
[anything]
commonName = supplied
[req]
distinguished_name = name
prompt = no
[name]
[authority]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign
[end]
basicConstraints = critical, CA:FALSE
END
: > index.txt

# log COMMAND...: runs the command silently and prints its output on failure.
log() {
  "$@" > log.txt 2>&1 || { cat log.txt >&2; exit 1; }
}

# request NAME SUBJECT NAMES: makes a key and a certificate request for the alternative NAMES.
request() {
  extension=''
  [ -z "$3" ] || extension="subjectAltName=$3"
  log openssl req -config openssl.cnf -new -nodes -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 \
    -subj "/CN=$2" ${extension:+-addext "$extension"} -keyout "$1.key" -out "$1.csr"
}

# sign NAME ISSUER SECTION [FROM UNTIL]: signs the request. Equal NAME and ISSUER: self-signed.
sign() {
  from=${4:-$past}
  until=${5:-$end_of_future}
  if [ "$2" = "$1" ]; then
    set -- "$1" "$2" "$3" -selfsign
  else
    set -- "$1" "$2" "$3" -cert "$2.own.pem"
  fi
  name=$1
  issuer=$2
  section=$3
  shift 3
  log openssl ca -config openssl.cnf -batch -notext -extensions "$section" -startdate "$from" \
    -enddate "$until" -keyfile "$issuer.key" -in "$name.csr" -out "$name.own.pem" "$@"
  cp "$name.own.pem" "$name.pem"
}

# leaf NAME ISSUER NAMES [FROM UNTIL]: makes a server's certificate.
leaf() {
  request "$1" "$1" "$3"
  sign "$1" "$2" end "${4:-}" "${5:-}"
}

authority() {
  request "$1" "$3" ''
  sign "$1" "$2" authority
}

here=DNS:localhost,IP:127.0.0.1

authority root root 'Test Root'
authority stranger stranger 'Unknown Root'
authority intermediate root 'Test Intermediate'

leaf valid root "$here"
leaf other-key root "$here"
leaf expired root "$here" "$past" "$end_of_past"
leaf not-yet-valid root "$here" "$future" "$end_of_future"
leaf wrong-host root DNS:elsewhere.test
leaf self-signed self-signed "$here"
leaf unknown-root stranger "$here"
cat stranger.own.pem >> unknown-root.pem
leaf client root ''
leaf unknown-client stranger ''

leaf missing-intermediate intermediate "$here"
cp missing-intermediate.key chain.key
cat missing-intermediate.own.pem intermediate.own.pem > chain.pem

# Twelve authorities between the root and the certificate; the client allows ten.
above=root
chain=''
for number in 1 2 3 4 5 6 7 8 9 10 11 12; do
  authority "deep-$number" "$above" "Test Intermediate $number"
  above=deep-$number
  chain="$above.own.pem $chain"
done
leaf too-deep "$above" "$here"
# shellcheck disable=SC2086  # names without blanks, meant as words
cat too-deep.own.pem $chain > too-deep.pem
