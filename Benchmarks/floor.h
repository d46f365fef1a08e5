/* The client's side of a floor: one connection, plain or TLS, with large reads. */
#ifndef FLOOR_H
#define FLOOR_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>

#include "peer.h"

/* Maximum size of a read, and of a read with the start of an earlier record. */
enum { read_room = 256 * 1024, input_room = read_room + 32 * 1024, tail_room = 128, life_seconds = 300 };

struct floor {
  int descriptor;
  SSL *tls;   /* NULL on a plain connection */
  BIO *input; /* what came for TLS and is not decrypted yet */
  char tail[tail_room];
};

/* Reads from the socket once and passes the bytes to TLS; returns 0 at the end. */
static inline int floor_fill(struct floor *floor) {
  static char bytes[read_room];
  ssize_t count = read(floor->descriptor, bytes, read_room);
  return count > 0 && BIO_write(floor->input, bytes, (int)count) == (int)count;
}

/* Reads at least one byte and at most `input_room`; returns 0 at the end. TLS reads from memory,
 * because two system calls for each record would be most of the cost. */
static inline size_t floor_read(struct floor *floor, char *bytes) {
  if (!floor->tls) {
    ssize_t count = read(floor->descriptor, bytes, read_room);
    return count > 0 ? (size_t)count : 0;
  }
  for (;;) {
    size_t filled = 0, count;
    while (filled < input_room && SSL_read_ex(floor->tls, bytes + filled, input_room - filled, &count)) filled += count;
    if (filled > 0) return filled;
    if (SSL_get_error(floor->tls, 0) != SSL_ERROR_WANT_READ || !floor_fill(floor)) return 0;
  }
}

static inline int floor_write(struct floor *floor, const void *bytes, size_t count) {
  struct peer peer = {floor->descriptor, floor->tls};
  return peer_write(&peer, bytes, count);
}

static inline void floor_secure(struct floor *floor) {
  SSL_CTX *context = SSL_CTX_new(TLS_client_method());
  floor->tls = context ? SSL_new(context) : NULL;
  floor->input = BIO_new(BIO_s_mem());
  if (!floor->tls || !floor->input) die("TLS");
  BIO_set_mem_eof_return(floor->input, -1);
  SSL_set0_rbio(floor->tls, floor->input);
  SSL_set0_wbio(floor->tls, BIO_new_socket(floor->descriptor, BIO_NOCLOSE));
  for (int done; (done = SSL_connect(floor->tls)) != 1;)
    if (SSL_get_error(floor->tls, done) != SSL_ERROR_WANT_READ || !floor_fill(floor)) die("TLS");
}

static inline struct floor floor_dial(const char *port, int has_tls) {
  signal(SIGPIPE, SIG_IGN);
  alarm(life_seconds);
  struct floor floor = {.descriptor = socket(AF_INET, SOCK_STREAM, 0)};
  struct sockaddr_in address = {
      .sin_family = AF_INET,
      .sin_port = htons((unsigned short)atoi(port)),
      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  if (connect(floor.descriptor, (struct sockaddr *)&address, sizeof address) < 0) die("connecting");
  if (has_tls) floor_secure(&floor);
  return floor;
}

/* Sends a request, and reads the answer's head. Returns the number of bytes after it, which come
 * first in `bytes`. */
static inline size_t floor_ask(struct floor *floor, const char *request, char *bytes) {
  if (!floor_write(floor, request, strlen(request))) die("asking");
  size_t count = floor_read(floor, bytes);
  char *blank = count ? memmem(bytes, count, "\r\n\r\n", 4) : NULL;
  if (!blank) die("the source did not answer with one head");
  size_t left = count - (size_t)(blank + 4 - bytes);
  memmove(bytes, blank + 4, left);
  return left;
}

#define UPGRADE                                                                                                       \
  "GET /app/bench?protocol=7 HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"             \
  "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"

/* Sends one masked text frame; a mask of zeros leaves the text as it is. */
static inline void floor_subscribe(struct floor *floor) {
  static const char text[] = "{\"event\":\"pusher:subscribe\",\"data\":{\"channel\":\"bench\"}}";
  char frame[128] = {(char)0x81, (char)(0x80 | (sizeof text - 1)), 0, 0, 0, 0};
  memcpy(frame + 6, text, sizeof text - 1);
  if (!floor_write(floor, frame, 6 + sizeof text - 1)) die("subscribing");
}

/* Returns whether `mark` is among the last bytes, which carry over from one read to the next. */
static inline int floor_ended(struct floor *floor, const char *bytes, size_t count, const char *mark) {
  char joined[2 * tail_room];
  size_t taken = count < tail_room ? count : tail_room;
  memcpy(joined, floor->tail, tail_room);
  memcpy(joined + tail_room, bytes + count - taken, taken);
  memcpy(floor->tail, joined + taken, tail_room);
  return memmem(joined, tail_room + taken, mark, strlen(mark)) != NULL;
}

static inline void put_all(const char *bytes, size_t count) {
  for (ssize_t done; count > 0; bytes += done, count -= (size_t)done)
    if ((done = write(1, bytes, count)) < 0) die("writing");
}

#endif
