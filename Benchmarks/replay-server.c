/* The source of every row: a Pusher server with prepared events, or the server of one event stream.
 *
 *    replay-server [KIND...] EVENTS SIZE [CERTIFICATE KEY]
 *
 * Listens on a free port of 127.0.0.1 and prints "port N". Upgrades each client and sends
 * pusher:connection_established. After its subscription the client gets EVENTS text frames with a
 * payload of SIZE bytes, as fast as the socket takes them from one prepared block, then one frame
 * with the event bench.end. When the client closes, prints "seconds S": from the first frame to
 * that close.
 *
 *    sse          each client gets, for any request, EVENTS server-sent events of SIZE bytes, each
 *                 in its own chunk, and then the end of the body
 *    text         the data is one long string instead of dense JSON
 *    turns        the events have eight shapes by turns: names of events, channels and members
 *    fresh        the names of members never repeat within the block of 1 MiB
 *    deflate      the messages are compressed by permessage-deflate with context takeover
 *    encrypted    the data is encrypted in advance; SIZE is the message's size before that
 *    channels N   waits for N subscriptions; the events go to channels from bench-00000 on, in turn
 *    records      over TLS each event is a record; a write to the socket still has many of them
 *    steady       waits until the client is idle, and prints "began" before the first event
 *    messages     serves no client: prints the messages of the block, one a line, EVENTS at most
 */
#define _GNU_SOURCE
#include <signal.h>

#include "speech.h"

enum { life_seconds = 300, settling_microseconds = 15000, telling_microseconds = 5000 };

static struct kind kind;
static int has_records, is_steady, prints_messages;

/* Parses the kinds, and returns the number of their words. */
static int take_kinds(int count, char **words) {
  int at = 1;
  for (; at < count && (words[at][0] < '0' || words[at][0] > '9'); at++) {
    if (!strcmp(words[at], "sse")) kind.is_stream = 1;
    else if (!strcmp(words[at], "text")) kind.is_text = 1;
    else if (!strcmp(words[at], "turns")) kind.has_turns = 1;
    else if (!strcmp(words[at], "fresh")) kind.is_fresh = 1;
    else if (!strcmp(words[at], "deflate")) kind.is_deflated = 1;
    else if (!strcmp(words[at], "encrypted")) kind.is_encrypted = 1;
    else if (!strcmp(words[at], "records")) has_records = 1;
    else if (!strcmp(words[at], "steady")) is_steady = 1;
    else if (!strcmp(words[at], "messages")) prints_messages = 1;
    else if (!strcmp(words[at], "channels") && at + 1 < count) kind.channels = strtoul(words[++at], NULL, 10);
    else return count;
  }
  return at - 1;
}

/* Waits until the client is idle, and signals `measure`, which then reads the client's CPU time. */
static void settle(void) {
  if (!is_steady) return;
  usleep(settling_microseconds);
  printf("began\n");
  fflush(stdout);
  usleep(telling_microseconds);
}

static int send_frames(struct peer *peer, const struct speech *speech, unsigned long count) {
  if (!has_records) return put_out(peer, speech->block, speech->ends[count - 1]);
  size_t start = 0;
  for (unsigned long frame = 0; frame < count; start = speech->ends[frame++])
    if (!peer_write(peer, speech->block + start, speech->ends[frame] - start)) return 0;
  return BIO_flush(SSL_get_wbio(peer->tls)) == 1;
}

/* Sends the events of `first`, unless it is empty, and then `speech` until all events are sent. */
static int send_speech(struct peer *peer, const struct speech *first, const struct speech *speech) {
  const struct speech *next = first->frames ? first : speech;
  for (unsigned long left = speech->count; left > 0; next = speech) {
    unsigned long frames = left < next->frames ? left : next->frames;
    if (!send_frames(peer, next, frames)) return 0;
    left -= frames;
  }
  return 1;
}

static void serve_stream(struct peer *peer, const struct speech *speech) {
  static const char answer[] =
      "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
  char head[16384];
  size_t end;
  if (!peer_read_head(peer, head, sizeof head, &end)) return;
  if (!put_out(peer, answer, sizeof answer - 1)) return;
  settle();
  double start = now();
  if (!send_speech(peer, &(struct speech){0}, speech)) return;
  if (!put_out(peer, "0\r\n\r\n", 5)) return;
  /* The client leaves after it has read everything. */
  while (peer_read(peer, head, sizeof head) > 0) continue;
  printf("seconds %.6f\n", now() - start);
  fflush(stdout);
}

static void serve(struct peer *peer, const struct speech *first, const struct speech *speech) {
  if (!upgrade(peer, kind.is_deflated ? "Sec-WebSocket-Extensions: permessage-deflate\r\n" : "")) return;
  z_stream zlib = {0};
  if (inflateInit2(&zlib, -15) != Z_OK) die("zlib");
  int is_subscribed = greet(peer) && confirm_channels(peer, kind.channels ? kind.channels : 1, &zlib);
  inflateEnd(&zlib);
  if (!is_subscribed) return;
  settle();
  double start = now();
  if (!send_speech(peer, first, speech)) return;
  if (!send_text(peer, "{\"event\":\"bench.end\",\"channel\":\"bench\",\"data\":\"{}\"}")) return;
  await_close(peer);
  printf("seconds %.6f\n", now() - start);
  fflush(stdout);
  finish(peer);
}

static void print_messages(const struct speech *speech) {
  size_t start = 0;
  for (size_t frame = 0; frame < speech->frames && frame < speech->count; start = speech->ends[frame++]) {
    size_t head = speech->block[start + 1] == 126 ? 4 : 2;
    fwrite(speech->block + start + head, 1, speech->ends[frame] - start - head, stdout);
    putchar('\n');
  }
}

static SSL_CTX *make_context(const char *certificate, const char *key) {
  SSL_CTX *context = SSL_CTX_new(TLS_server_method());
  if (!context || SSL_CTX_use_certificate_chain_file(context, certificate) != 1 ||
      SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) != 1)
    die("certificate");
  return context;
}

/* Starts TLS above a buffer, so that a write to the socket has as many records as fit. */
static SSL *secure(SSL_CTX *context, int descriptor) {
  SSL *tls = SSL_new(context);
  BIO *input = BIO_new_socket(descriptor, BIO_NOCLOSE), *output = BIO_new_socket(descriptor, BIO_NOCLOSE);
  BIO *buffer = has_records ? BIO_new(BIO_f_buffer()) : NULL;
  if (!tls || !input || !output || (has_records && !buffer)) die("TLS");
  if (buffer && BIO_set_write_buffer_size(buffer, 256 * 1024) != 1) die("TLS");
  SSL_set0_rbio(tls, input);
  SSL_set0_wbio(tls, buffer ? BIO_push(buffer, output) : output);
  return tls;
}

/* Prepares the events of one run. With compression the repeated block refers back to its own end,
 * which came just before it; only the first block has nothing before it. */
static struct speech prepare_all(unsigned long events, size_t size, struct speech *first) {
  if (!kind.is_deflated) return prepare(events, size, &kind, NULL);
  z_stream zlib = {0};
  if (deflateInit2(&zlib, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK) die("deflate");
  *first = prepare(events, size, &kind, &zlib);
  return prepare(events, size, &kind, &zlib);
}

int main(int count, char **words) {
  int kinds = take_kinds(count, words);
  count -= kinds;
  words += kinds;
  if (count != 3 && count != 5) {
    fprintf(stderr, "usage: replay-server [KIND...] EVENTS SIZE [CERTIFICATE KEY]\n");
    return 2;
  }
  signal(SIGPIPE, SIG_IGN);
  alarm(life_seconds);
  size_t size = strtoul(words[2], NULL, 10);
  if (size < 200 || size > 15000) {
    fprintf(stderr, "replay-server: a payload has 200 to 15000 bytes\n");
    return 2;
  }
  if (kind.is_encrypted && sodium_init() < 0) die("libsodium");
  struct speech first = {0}, speech = prepare_all(strtoul(words[1], NULL, 10), size, &first);
  if (prints_messages) {
    print_messages(&speech);
    return fflush(stdout) ? 1 : 0;
  }
  SSL_CTX *context = count == 5 ? make_context(words[3], words[4]) : NULL;
  if (has_records && !context) die("records without TLS");
  int port, listener = listen_anywhere(&port);
  printf("port %d\n", port);
  fflush(stdout);
  for (;;) {
    struct peer peer = accept_peer(listener);
    if (context) peer.tls = secure(context, peer.descriptor);
    if (!peer.tls || SSL_accept(peer.tls) == 1) {
      if (kind.is_stream) serve_stream(&peer, &speech);
      else serve(&peer, &first, &speech);
    }
    SSL_free(peer.tls);
    close(peer.descriptor);
  }
}
