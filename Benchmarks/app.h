/* Shared code of programs that load a Pusher server: clients, and calls of the HTTP API. */
#ifndef APP_H
#define APP_H

#include "peer.h"
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <time.h>

enum {
  text_size = 200,
  frame_size = text_size + 4,
  most_servers = 8,
};

static inline double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static inline int read_numbers(const char *words, int *numbers) {
  int count = 0;
  for (const char *word = words; word; word = strchr(word, ',') ? strchr(word, ',') + 1 : NULL) {
    if (count == most_servers) die("too many servers");
    numbers[count++] = atoi(word);
  }
  return count;
}

static inline struct peer dial(int port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  struct peer peer = {.descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  if (peer.descriptor < 0) die("no socket");
  if (connect(peer.descriptor, (struct sockaddr *)&address, sizeof address)) die("no connection");
  int yes = 1;
  setsockopt(peer.descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  return peer;
}

static inline void expect(struct peer *peer, char *got, size_t room, size_t filled, const char *mark) {
  while (!memmem(got, filled, mark, strlen(mark))) {
    size_t count = filled < room ? peer_read(peer, got + filled, room - filled) : 0;
    if (count == 0) die(mark);
    filled += count;
  }
}

/* Writes a client's text frame of less than 126 bytes; its mask of zeros changes nothing. */
static inline size_t masked(char *frame, const char *text) {
  size_t length = strlen(text);
  frame[0] = (char)0x81;
  frame[1] = (char)(0x80 | length);
  memset(frame + 2, 0, 4);
  memcpy(frame + 6, text, length);
  return length + 6;
}

enum stage { connected, greeted, subscribed };

static inline struct peer open_socket(int port, const char *path, enum stage stage) {
  struct peer peer = dial(port);
  char bytes[4096];
  size_t end, filled;
  int length = snprintf(bytes, sizeof bytes,
      "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
      "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n", path, port);
  if (!peer_write(&peer, bytes, (size_t)length)) die("the server does not listen");
  if (!(filled = peer_read_head(&peer, bytes, sizeof bytes, &end))) die("the server did not answer");
  if (stage == connected) return peer;
  expect(&peer, bytes, sizeof bytes, filled, "connection_established");
  if (stage == greeted) return peer;
  char frame[200];
  size_t size = masked(frame, "{\"event\":\"pusher:subscribe\",\"data\":{\"channel\":\"c\"}}");
  if (!peer_write(&peer, frame, size)) die("the server does not listen");
  expect(&peer, bytes, sizeof bytes, 0, "subscription_succeeded");
  return peer;
}

/* The text around an event's data, as subscribers get it. */
static const char head[] = "{\"event\":\"e\",\"channel\":\"c\",\"data\":\"", tail[] = "\"}";

/* Returns the size of the data that makes a text of `text_size` bytes. */
static inline size_t data_size(void) { return text_size - strlen(head) - strlen(tail); }

static inline void put_data(char *data) {
  memset(data, 'x', data_size());
  data[data_size()] = 0;
}

static inline void put_hex(char *out, const unsigned char *bytes, unsigned int count) {
  for (unsigned int index = 0; index < count; index++) sprintf(out + 2 * index, "%02x", bytes[index]);
}

/* Writes a call of the HTTP API, signed with the key and secret "bench". */
static inline size_t signed_call(char *call, size_t room, int port, const char *path, const char *body) {
  char query[400], text[500], hex[2 * EVP_MAX_MD_SIZE + 1];
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size;
  EVP_Digest(body, strlen(body), digest, &size, EVP_md5(), NULL);
  put_hex(hex, digest, size);
  snprintf(query, sizeof query, "auth_key=bench&auth_timestamp=%lld&auth_version=1.0&body_md5=%s",
      (long long)time(NULL), hex);
  int count = snprintf(text, sizeof text, "POST\n%s\n%s", path, query);
  HMAC(EVP_sha256(), "bench", 5, (unsigned char *)text, (size_t)count, digest, &size);
  put_hex(hex, digest, size);
  return (size_t)snprintf(call, room,
      "POST %s?%s&auth_signature=%s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n"
      "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s", path, query, hex, port, strlen(body), body);
}

#endif
