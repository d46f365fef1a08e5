/* One connection, plain or TLS, with blocking calls that either complete or end the program. */
#ifndef PEER_H
#define PEER_H

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct peer {
  int descriptor;
  SSL *tls; /* NULL on a plain connection */
};

static inline void die(const char *what) {
  fprintf(stderr, "benchmark: %s: %s\n", what, errno ? strerror(errno) : "failed");
  ERR_print_errors_fp(stderr);
  exit(1);
}

/* Reads at least one byte; returns 0 at the end. */
static inline size_t peer_read(struct peer *peer, void *bytes, size_t room) {
  for (;;) {
    if (peer->tls) {
      int count = SSL_read(peer->tls, bytes, room > 1 << 30 ? 1 << 30 : (int)room);
      return count > 0 ? (size_t)count : 0;
    }
    ssize_t count = read(peer->descriptor, bytes, room);
    if (count >= 0) return (size_t)count;
    if (errno != EINTR) return 0;
  }
}

/* Writes everything; returns false if the peer has closed. */
static inline int peer_write(struct peer *peer, const void *bytes, size_t count) {
  const char *next = bytes;
  while (count > 0) {
    ssize_t done;
    if (peer->tls) {
      done = SSL_write(peer->tls, next, (int)count);
      if (done <= 0) return 0;
    } else {
      done = write(peer->descriptor, next, count);
      if (done < 0 && errno == EINTR) continue;
      if (done < 0) return 0;
    }
    next += done;
    count -= (size_t)done;
  }
  return 1;
}

/* Reads up to the empty line that ends an HTTP head. Further bytes stay in `head`, which ends with
 * a zero byte. Returns the number of bytes read, and the length of the head in `*end`. */
static inline size_t peer_read_head(struct peer *peer, char *head, size_t room, size_t *end) {
  size_t filled = 0;
  while (filled + 1 < room) {
    size_t count = peer_read(peer, head + filled, room - 1 - filled);
    if (count == 0) return 0;
    filled += count;
    head[filled] = 0;
    char *blank = strstr(head, "\r\n\r\n");
    if (blank) {
      *end = (size_t)(blank - head) + 4;
      return filled;
    }
  }
  return 0;
}

#endif
