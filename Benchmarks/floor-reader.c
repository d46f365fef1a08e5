/* The floor: connects, upgrades, subscribes, then reads and throws away until bench.end has passed.
 *
 *   floor-reader PORT [tls]
 *
 * No client that has to look at the bytes can be faster.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>

#include "peer.h"

enum { room = 256 * 1024, tail_room = 128, life_seconds = 300 };

static const char request[] =
    "GET /app/bench?protocol=7 HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

/* One masked text frame; a mask of zeros leaves the text as it is. */
static void subscribe(struct peer *peer) {
  static const char text[] = "{\"event\":\"pusher:subscribe\",\"data\":{\"channel\":\"bench\"}}";
  char frame[128] = {(char)0x81, (char)(0x80 | (sizeof text - 1)), 0, 0, 0, 0};
  memcpy(frame + 6, text, sizeof text - 1);
  if (!peer_write(peer, frame, 6 + sizeof text - 1)) die("subscribing");
}

/* Whether bench.end stands among the last bytes; `tail` carries them over from one read to the next. */
static int ended(const char *bytes, size_t count, char *tail) {
  char joined[2 * tail_room];
  size_t taken = count < tail_room ? count : tail_room;
  memcpy(joined, tail, tail_room);
  memcpy(joined + tail_room, bytes + count - taken, taken);
  memcpy(tail, joined + taken, tail_room);
  return memmem(joined, tail_room + taken, "bench.end", 9) != NULL;
}

int main(int count, char **words) {
  if (count < 2) {
    fprintf(stderr, "usage: floor-reader PORT [tls]\n");
    return 2;
  }
  signal(SIGPIPE, SIG_IGN);
  alarm(life_seconds);
  struct peer peer = {socket(AF_INET, SOCK_STREAM, 0), NULL};
  struct sockaddr_in address = {
      .sin_family = AF_INET,
      .sin_port = htons((unsigned short)atoi(words[1])),
      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  if (connect(peer.descriptor, (struct sockaddr *)&address, sizeof address) < 0) die("connecting");
  if (count > 2) {
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    peer.tls = context ? SSL_new(context) : NULL;
    if (!peer.tls || SSL_set_fd(peer.tls, peer.descriptor) != 1 || SSL_connect(peer.tls) != 1) die("TLS");
  }
  static char bytes[room];
  static char tail[tail_room];
  size_t end;
  if (!peer_write(&peer, request, sizeof request - 1)) die("upgrading");
  if (!peer_read_head(&peer, bytes, room, &end)) die("upgrading");
  subscribe(&peer);
  for (;;) {
    size_t got = peer_read(&peer, bytes, room);
    if (got == 0) die("the source ended early");
    if (ended(bytes, got, tail)) return 0;
  }
}
