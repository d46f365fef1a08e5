/* The minimum work of a server: writes the bytes from the connection to /publish to all other
 * connections.
 *
 *    fan-out-floor PORT-FILE [BYTES]
 *
 * BYTES limits each read, and so sets the number of writes, like a server that writes after each
 * such batch.
 *
 * It implements just enough for fan-out.c, one connection after the other, and ends on SIGTERM.
 */
#define _GNU_SOURCE
#include "peer.h"
#include <arpa/inet.h>
#include <sys/epoll.h>
#include <sys/resource.h>

enum { most = 20000 };

static int subscribers[most];
static int subscriber_count;

static void greet(int descriptor, int poll) {
  struct peer peer = {.descriptor = descriptor};
  char head[4096];
  size_t end;
  static const char answer[] = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n";
  static const char established[] = "\x81\x1F{\"e\":\"connection_established\"}\n";
  static const char succeeded[] = "\x81\x1F{\"e\":\"subscription_succeeded\"}\n";
  if (!peer_read_head(&peer, head, sizeof head, &end)) die("no head");
  peer_write(&peer, answer, sizeof answer - 1);
  if (strncmp(head, "GET /publish", 12) == 0) {
    struct epoll_event interest = {.events = EPOLLIN, .data.fd = descriptor};
    if (epoll_ctl(poll, EPOLL_CTL_ADD, descriptor, &interest)) die("no epoll");
    return;
  }
  peer_write(&peer, established, sizeof established - 1);
  if (peer_read(&peer, head, sizeof head) == 0) die("no subscription");
  peer_write(&peer, succeeded, sizeof succeeded - 1);
  if (subscriber_count == most) die("too many subscribers");
  subscribers[subscriber_count++] = descriptor;
}

int main(int count, char **words) {
  if (count != 2 && count != 3) {
    fprintf(stderr, "usage: fan-out-floor PORT-FILE [BYTES]\n");
    return 2;
  }
  alarm(600);
  struct rlimit files;
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  struct sockaddr_in address = {.sin_family = AF_INET};
  socklen_t size = sizeof address;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (bind(listener, (struct sockaddr *)&address, size) || listen(listener, 1024)) die("cannot listen");
  getsockname(listener, (struct sockaddr *)&address, &size);
  FILE *file = fopen(words[1], "w");
  if (!file || fprintf(file, "%d\n", ntohs(address.sin_port)) < 0 || fclose(file)) die(words[1]);

  int poll = epoll_create1(EPOLL_CLOEXEC);
  struct epoll_event interest = {.events = EPOLLIN, .data.fd = listener};
  if (epoll_ctl(poll, EPOLL_CTL_ADD, listener, &interest)) die("no epoll");
  static char bytes[1 << 16];
  size_t most_bytes = count == 3 ? (size_t)atol(words[2]) : sizeof bytes;
  if (most_bytes < 1 || most_bytes > sizeof bytes) die(words[2]);
  for (;;) {
    struct epoll_event ready;
    if (epoll_wait(poll, &ready, 1, -1) < 1) continue;
    if (ready.data.fd == listener) {
      greet(accept4(listener, NULL, NULL, SOCK_CLOEXEC), poll);
      continue;
    }
    ssize_t got = read(ready.data.fd, bytes, most_bytes);
    if (got <= 0) {
      close(ready.data.fd);
      continue;
    }
    for (int index = 0; index < subscriber_count; index++) {
      struct peer peer = {.descriptor = subscribers[index]};
      if (!peer_write(&peer, bytes, (size_t)got)) die("a subscriber has gone");
    }
  }
}
