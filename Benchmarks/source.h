/* The server's side of a connection, for programs that act as a Pusher server. */
#ifndef SOURCE_H
#define SOURCE_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <zlib.h>

#include "peer.h"

enum { payload_room = 1 << 16 };

static inline double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static inline int listen_anywhere(int *port) {
  int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof address) < 0 ||
      listen(listener, 4) < 0 || getsockname(listener, (struct sockaddr *)&address, &length) < 0)
    die("listening");
  *port = ntohs(address.sin_port);
  return listener;
}

static inline struct peer accept_peer(int listener) {
  struct peer peer = {accept4(listener, NULL, NULL, SOCK_CLOEXEC), NULL};
  if (peer.descriptor < 0) die("accept");
  int on = 1;
  setsockopt(peer.descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return peer;
}

/* Writes the head of an unmasked text frame, compressed or not, and returns its length. */
static inline size_t put_head(char *out, size_t count, int is_compressed) {
  out[0] = (char)(is_compressed ? 0xc1 : 0x81);
  if (count < 126) {
    out[1] = (char)count;
    return 2;
  }
  out[1] = 126;
  out[2] = (char)(count >> 8);
  out[3] = (char)(count & 0xff);
  return 4;
}

static inline size_t put_frame(char *out, const char *payload, size_t count) {
  size_t head = put_head(out, count, 0);
  memcpy(out + head, payload, count);
  return head + count;
}

/* Writes everything, and flushes the buffer below TLS. */
static inline int put_out(struct peer *peer, const void *bytes, size_t count) {
  return peer_write(peer, bytes, count) && (!peer->tls || BIO_flush(SSL_get_wbio(peer->tls)) == 1);
}

static inline int send_text(struct peer *peer, const char *text) {
  char frame[1024];
  return put_out(peer, frame, put_frame(frame, text, strlen(text)));
}

/* Answers the client's upgrade; `fields` are further header fields, each with its line end. */
static inline int upgrade(struct peer *peer, const char *fields) {
  char head[16384], text[640], accept[64];
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
      "Sec-WebSocket-Accept: %s\r\n%s\r\n",
      accept, fields);
  return put_out(peer, text, (size_t)count);
}

static inline int greet(struct peer *peer) {
  return send_text(
      peer,
      "{\"event\":\"pusher:connection_established\","
      "\"data\":\"{\\\"socket_id\\\":\\\"1.1\\\",\\\"activity_timeout\\\":120}\"}");
}

static inline int read_exactly(struct peer *peer, unsigned char *bytes, size_t count) {
  while (count > 0) {
    size_t done = peer_read(peer, bytes, count);
    if (done == 0) return 0;
    bytes += done;
    count -= done;
  }
  return 1;
}

/* Inflates a client's message in place, with the context of the messages before it. */
static inline int inflate_payload(z_stream *zlib, unsigned char *payload, size_t *count) {
  static unsigned char message[payload_room];
  memcpy(payload + *count, "\0\0\xff\xff", 4);
  zlib->next_in = payload;
  zlib->avail_in = (unsigned)*count + 4;
  zlib->next_out = message;
  zlib->avail_out = sizeof message;
  if (inflate(zlib, Z_SYNC_FLUSH) != Z_OK || zlib->avail_in) return 0;
  *count = sizeof message - zlib->avail_out;
  memcpy(payload, message, *count);
  return 1;
}

/* Reads one of the client's masked frames, and inflates it if it is compressed; `payload` has
 * `payload_room` and 4 bytes more. Returns its opcode, or -1 at the end and for an invalid frame.
 */
static inline int read_frame(struct peer *peer, unsigned char *payload, size_t *count, z_stream *zlib) {
  unsigned char head[8];
  if (!read_exactly(peer, head, 2)) return -1;
  int opcode = head[0] & 0x0f, is_compressed = head[0] >> 6 & 1;
  *count = head[1] & 0x7f;
  if (*count == 127 || !(head[1] & 0x80)) return -1;
  if (*count == 126) {
    if (!read_exactly(peer, head, 2)) return -1;
    *count = (size_t)head[0] << 8 | head[1];
  }
  if (!read_exactly(peer, head, 4) || !read_exactly(peer, payload, *count)) return -1;
  for (size_t index = 0; index < *count; index++) payload[index] ^= head[index & 3];
  if (is_compressed && (!zlib || !inflate_payload(zlib, payload, count))) return -1;
  return opcode;
}

/* Returns the channel's name in a message, up to its quote. JSON allows spaces around the colon,
 * and Python writes one. */
static inline const char *find_channel(const char *message) {
  const char *name = strstr(message, "\"channel\"");
  if (!name) return NULL;
  name += strlen("\"channel\"");
  name += strspn(name, " :");
  return *name == '"' ? name + 1 : NULL;
}

/* Waits until the client has subscribed to this number of channels, and confirms each. */
static inline int confirm_channels(struct peer *peer, unsigned long channels, z_stream *zlib) {
  static unsigned char payload[payload_room + 5];
  char text[512];
  size_t count;
  while (channels > 0) {
    if (read_frame(peer, payload, &count, zlib) < 0) return 0;
    payload[count] = 0;
    const char *name = find_channel((char *)payload);
    if (!name || !strstr((char *)payload, "pusher:subscribe")) continue;
    snprintf(
        text, sizeof text,
        "{\"event\":\"pusher_internal:subscription_succeeded\",\"channel\":\"%.*s\",\"data\":\"{}\"}",
        (int)strcspn(name, "\""), name);
    if (!send_text(peer, text)) return 0;
    channels--;
  }
  return 1;
}

static inline void await_close(struct peer *peer) {
  static unsigned char payload[payload_room + 4];
  size_t count;
  int opcode;
  while ((opcode = read_frame(peer, payload, &count, NULL)) >= 0)
    if (opcode == 8) return;
}

/* Answers the close frame, and waits a moment before the socket closes. */
static inline void finish(struct peer *peer) {
  char byte;
  struct timeval moment = {.tv_sec = 1};
  setsockopt(peer->descriptor, SOL_SOCKET, SO_RCVTIMEO, &moment, sizeof moment);
  if (!put_out(peer, "\x88\x02\x03\xe8", 4)) return;
  if (peer->tls) SSL_shutdown(peer->tls);
  if (peer->tls) (void)BIO_flush(SSL_get_wbio(peer->tls));
  shutdown(peer->descriptor, SHUT_WR);
  while (read(peer->descriptor, &byte, 1) > 0) continue;
}

#endif
