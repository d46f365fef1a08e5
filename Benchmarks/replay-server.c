/* The source of every row: a Pusher server that knows one channel and one speech, or a server of one event stream.
 *
 *   replay-server EVENTS SIZE [CERTIFICATE KEY]
 *   replay-server sse EVENTS SIZE [CERTIFICATE KEY]
 *
 * Listens on a free port of 127.0.0.1 and prints "port N". Each client is upgraded, told
 * pusher:connection_established, and once it has subscribed it gets EVENTS text frames with a payload of SIZE
 * bytes, as fast as the socket takes them from one block prepared beforehand, then one frame with the event
 * bench.end. When the client closes, prints "seconds S": from the first frame to that close.
 *
 * With "sse" each client gets, whatever it asks for, EVENTS server-sent events of SIZE bytes, each in a chunk of its
 * own, and then the end of the body.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <signal.h>
#include <sys/socket.h>
#include <time.h>

#include "peer.h"

enum { block_room = 1 << 20, payload_room = 1 << 16, life_seconds = 300 };

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Appends an unmasked text frame and returns its length. */
static size_t put_frame(char *out, const char *payload, size_t count) {
  size_t head = 2;
  out[0] = (char)0x81;
  if (count < 126) {
    out[1] = (char)count;
  } else {
    out[1] = 126;
    out[2] = (char)(count >> 8);
    out[3] = (char)(count & 0xff);
    head = 4;
  }
  memcpy(out + head, payload, count);
  return head + count;
}

static int send_text(struct peer *peer, const char *text) {
  char frame[1024];
  return peer_write(peer, frame, put_frame(frame, text, strlen(text)));
}

/* One event of exactly `size` bytes: an order book's change, told as JSON text inside JSON. */
static void make_event(char *out, size_t size, unsigned number) {
  static const char tail[] = "\\\"}\"}";
  static const char words[] = "filled at the open, partly from the reserve, the rest stands until the close; ";
  size_t at = (size_t)sprintf(
      out,
      "{\"event\":\"price.updated\",\"channel\":\"bench\",\"data\":\"{\\\"id\\\":%u,\\\"symbol\\\":\\\"ACME\\\","
      "\\\"side\\\":\\\"%s\\\",\\\"price\\\":%u.%02u",
      1000000 + number, number % 3 ? "buy" : "sell", 100 + number % 800, number % 100);
  size_t room = size - sizeof tail - sizeof ",\\\"levels\\\":[],\\\"note\\\":\\\"" - 8;
  if (at + 64 < room) {
    at += (size_t)sprintf(out + at, ",\\\"levels\\\":[");
    for (unsigned level = 0; at + 48 < room; level++) {
      at += (size_t)sprintf(
          out + at, "%s{\\\"bid\\\":%u.%u,\\\"size\\\":%u}", level ? "," : "", 100 + (number + level) % 800,
          level % 10, 1 + number * 7 % 9999);
    }
    out[at++] = ']';
  }
  at += (size_t)sprintf(out + at, ",\\\"note\\\":\\\"");
  for (size_t word = number % 9; at < size - (sizeof tail - 1); word++)
    out[at++] = words[word % (sizeof words - 1)];
  memcpy(out + at, tail, sizeof tail - 1);
}

struct speech {
  char *block;
  size_t frame;        /* bytes of one frame */
  size_t frames;       /* frames in the block */
  unsigned long count; /* frames to send */
};

static struct speech prepare(unsigned long count, size_t size) {
  struct speech speech = {malloc(block_room + 2048), 0, 0, count};
  char *payload = malloc(size + 256);
  if (!speech.block || !payload) die("memory");
  for (size_t at = 0; at + size + 4 <= block_room; at += speech.frame, speech.frames++) {
    make_event(payload, size, (unsigned)speech.frames);
    speech.frame = put_frame(speech.block + at, payload, size);
  }
  free(payload);
  return speech;
}

/* One server-sent event of exactly `size` bytes, in its chunk; returns the length of both. */
static size_t put_event(char *out, size_t size, unsigned number) {
  static const char words[] = "filled at the open, partly from the reserve, the rest stands until the close; ";
  static const char tail[] = "\"}\n\n";
  size_t head = (size_t)sprintf(out, "%zx\r\n", size);
  char *event = out + head;
  size_t at = (size_t)sprintf(
      event,
      "id: %u\nevent: price.updated\ndata: {\"id\":%u,\"symbol\":\"ACME\",\"side\":\"%s\",\"price\":%u.%02u,\"note\":\"",
      number, 1000000 + number, number % 3 ? "buy" : "sell", 100 + number % 800, number % 100);
  for (size_t word = number % 9; at < size - (sizeof tail - 1); word++)
    event[at++] = words[word % (sizeof words - 1)];
  memcpy(event + at, tail, sizeof tail - 1);
  memcpy(event + size, "\r\n", 2);
  return head + size + 2;
}

static struct speech prepare_stream(unsigned long count, size_t size) {
  struct speech speech = {malloc(block_room + 2048), 0, 0, count};
  if (!speech.block) die("memory");
  for (size_t at = 0; at + size + 16 <= block_room; at += speech.frame, speech.frames++)
    speech.frame = put_event(speech.block + at, size, (unsigned)speech.frames);
  return speech;
}

static void serve_stream(struct peer *peer, const struct speech *speech) {
  static const char answer[] =
      "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
  char head[16384];
  size_t end;
  if (peer->tls && SSL_accept(peer->tls) != 1) return;
  if (!peer_read_head(peer, head, sizeof head, &end)) return;
  if (!peer_write(peer, answer, sizeof answer - 1)) return;
  double start = now();
  for (unsigned long left = speech->count; left > 0;) {
    unsigned long frames = left < speech->frames ? left : speech->frames;
    if (!peer_write(peer, speech->block, frames * speech->frame)) return;
    left -= frames;
  }
  if (!peer_write(peer, "0\r\n\r\n", 5)) return;
  /* Until the client leaves: then it has read all, and most likely said so. */
  while (peer_read(peer, head, sizeof head) > 0) continue;
  printf("seconds %.6f\n", now() - start);
  fflush(stdout);
}

static int upgrade(struct peer *peer) {
  char head[16384], text[512], accept[64];
  unsigned char digest[SHA_DIGEST_LENGTH];
  size_t end;
  if (!peer_read_head(peer, head, sizeof head, &end)) return 0;
  char *key = strcasestr(head, "\r\nSec-WebSocket-Key:");
  if (!key) return 0;
  key += strlen("\r\nSec-WebSocket-Key:");
  key += strspn(key, " \t");
  int length = (int)strcspn(key, " \t\r\n");
  snprintf(text, sizeof text, "%.*s258EAFA5-E914-47DA-95CA-C5AB0DC85B11", length, key);
  SHA1((unsigned char *)text, strlen(text), digest);
  EVP_EncodeBlock((unsigned char *)accept, digest, sizeof digest);
  int count = snprintf(
      text, sizeof text,
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
      "Sec-WebSocket-Accept: %s\r\n\r\n",
      accept);
  return peer_write(peer, text, (size_t)count);
}

static int read_exactly(struct peer *peer, unsigned char *bytes, size_t count) {
  while (count > 0) {
    size_t done = peer_read(peer, bytes, count);
    if (done == 0) return 0;
    bytes += done;
    count -= done;
  }
  return 1;
}

/* Reads one of the client's masked frames; returns its opcode, or -1 at the end and for what is not one. */
static int read_frame(struct peer *peer, unsigned char *payload, size_t *count) {
  unsigned char head[8];
  if (!read_exactly(peer, head, 2)) return -1;
  int opcode = head[0] & 0x0f;
  *count = head[1] & 0x7f;
  if (*count == 127 || !(head[1] & 0x80)) return -1;
  if (*count == 126) {
    if (!read_exactly(peer, head, 2)) return -1;
    *count = (size_t)head[0] << 8 | head[1];
  }
  if (!read_exactly(peer, head, 4) || !read_exactly(peer, payload, *count)) return -1;
  for (size_t index = 0; index < *count; index++) payload[index] ^= head[index & 3];
  return opcode;
}

static int await_subscribe(struct peer *peer) {
  unsigned char payload[payload_room];
  size_t count;
  while (read_frame(peer, payload, &count) >= 0)
    if (memmem(payload, count, "pusher:subscribe", 16)) return 1;
  return 0;
}

/* Until the client sends a close frame or ends without one. */
static void await_close(struct peer *peer) {
  unsigned char payload[payload_room];
  size_t count;
  int opcode;
  while ((opcode = read_frame(peer, payload, &count)) >= 0)
    if (opcode == 8) return;
}

/* Answers the close frame, and gives the client a moment to see it before the socket goes. */
static void finish(struct peer *peer) {
  char byte;
  struct timeval moment = {.tv_sec = 1};
  setsockopt(peer->descriptor, SOL_SOCKET, SO_RCVTIMEO, &moment, sizeof moment);
  if (!peer_write(peer, "\x88\x02\x03\xe8", 4)) return;
  if (peer->tls) SSL_shutdown(peer->tls);
  shutdown(peer->descriptor, SHUT_WR);
  while (read(peer->descriptor, &byte, 1) > 0) continue;
}

static void serve(struct peer *peer, const struct speech *speech) {
  if (peer->tls && SSL_accept(peer->tls) != 1) return;
  if (!upgrade(peer)) return;
  if (!send_text(
          peer,
          "{\"event\":\"pusher:connection_established\","
          "\"data\":\"{\\\"socket_id\\\":\\\"1.1\\\",\\\"activity_timeout\\\":120}\"}"))
    return;
  if (!await_subscribe(peer)) return;
  if (!send_text(
          peer,
          "{\"event\":\"pusher_internal:subscription_succeeded\",\"channel\":\"bench\",\"data\":\"{}\"}"))
    return;
  double start = now();
  for (unsigned long left = speech->count; left > 0;) {
    unsigned long frames = left < speech->frames ? left : speech->frames;
    if (!peer_write(peer, speech->block, frames * speech->frame)) return;
    left -= frames;
  }
  if (!send_text(peer, "{\"event\":\"bench.end\",\"channel\":\"bench\",\"data\":\"{}\"}")) return;
  await_close(peer);
  printf("seconds %.6f\n", now() - start);
  fflush(stdout);
  finish(peer);
}

int main(int count, char **words) {
  int is_stream = count > 1 && strcmp(words[1], "sse") == 0;
  count -= is_stream;
  words += is_stream;
  if (count != 3 && count != 5) {
    fprintf(stderr, "usage: replay-server [sse] EVENTS SIZE [CERTIFICATE KEY]\n");
    return 2;
  }
  signal(SIGPIPE, SIG_IGN);
  alarm(life_seconds);
  size_t size = strtoul(words[2], NULL, 10);
  if (size < 200 || size > 60000) {
    fprintf(stderr, "replay-server: a payload has 200 to 60000 bytes\n");
    return 2;
  }
  unsigned long events = strtoul(words[1], NULL, 10);
  struct speech speech = is_stream ? prepare_stream(events, size) : prepare(events, size);
  SSL_CTX *context = NULL;
  if (count == 5) {
    context = SSL_CTX_new(TLS_server_method());
    if (!context || SSL_CTX_use_certificate_chain_file(context, words[3]) != 1 ||
        SSL_CTX_use_PrivateKey_file(context, words[4], SSL_FILETYPE_PEM) != 1)
      die("certificate");
  }
  int listener = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof address) < 0 ||
      listen(listener, 4) < 0 || getsockname(listener, (struct sockaddr *)&address, &length) < 0)
    die("listening");
  printf("port %d\n", ntohs(address.sin_port));
  fflush(stdout);
  for (;;) {
    struct peer peer = {accept(listener, NULL, NULL), NULL};
    if (peer.descriptor < 0) die("accept");
    int on = 1;
    setsockopt(peer.descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (context) {
      peer.tls = SSL_new(context);
      if (!peer.tls || SSL_set_fd(peer.tls, peer.descriptor) != 1) die("TLS");
    }
    if (is_stream) serve_stream(&peer, &speech);
    else serve(&peer, &speech);
    SSL_free(peer.tls);
    close(peer.descriptor);
  }
}
