/* The output of a source: a prepared block of events that is sent repeatedly. */
#ifndef SPEECH_H
#define SPEECH_H

#include "encrypted.h"
#include "source.h"

enum { block_room = 1 << 20, window_size = 1 << 15 };

struct kind {
  int is_stream;          /* server-sent events */
  int is_text;            /* one long string where dense JSON would stand */
  int has_turns;          /* eight names of events, channels and members by turns */
  int is_fresh;           /* names of members that never repeat in a block */
  int is_deflated;        /* permessage-deflate with context takeover */
  int is_encrypted;       /* data in a box of libsodium */
  unsigned long channels; /* on how many channels, 0 for the one called "bench" */
};

struct speech {
  char *block;
  size_t *ends;        /* where each frame of the block ends */
  size_t frames;       /* frames in the block */
  unsigned long count; /* frames to send */
};

static const char words_of_note[] = "filled at the open, partly from the reserve, the rest stands until the close; ";

static const char *const names_of_turns[] = {
    "price.updated", "trade.done", "order.placed", "order.filled", "user.joined", "user.typing", "book.changed", "news"};

/* Writes the data of one event: JSON text of exactly `size` bytes, escaped for a JSON string. */
static inline void make_data(char *out, size_t size, unsigned number, int is_text) {
  static const char tail[] = "\\\"}", note[] = ",\\\"note\\\":\\\"", levels[] = ",\\\"levels\\\":[";
  size_t at = (size_t)sprintf(
      out, "{\\\"id\\\":%u,\\\"symbol\\\":\\\"ACME\\\",\\\"side\\\":\\\"%s\\\",\\\"price\\\":%u.%02u",
      1000000 + number, number % 3 ? "buy" : "sell", 100 + number % 800, number % 100);
  /* The room without the tail, the note's name and the list's brackets. */
  size_t room = size - strlen(tail) - strlen(note) - strlen(levels) - 14;
  if (at + 64 < room && !is_text) {
    at += (size_t)sprintf(out + at, "%s", levels);
    for (unsigned level = 0; at + 48 < room; level++) {
      at += (size_t)sprintf(
          out + at, "%s{\\\"bid\\\":%u.%u,\\\"size\\\":%u}", level ? "," : "", 100 + (number + level) % 800,
          level % 10, 1 + number * 7 % 9999);
    }
    out[at++] = ']';
  }
  at += (size_t)sprintf(out + at, "%s", note);
  for (size_t word = number % 9; at < size - strlen(tail); word++)
    out[at++] = words_of_note[word % (sizeof words_of_note - 1)];
  memcpy(out + at, tail, strlen(tail));
}

static inline size_t unescape(char *text, size_t count) {
  size_t to = 0;
  for (size_t from = 0; from < count; from++) {
    if (text[from] == '\\') from++;
    text[to++] = text[from];
  }
  return to;
}

/* Encrypts data, and writes the data of an encrypted event, which is longer. */
static inline size_t encrypt(char *out, char *data, size_t count, unsigned number) {
  unsigned char key[crypto_secretbox_KEYBYTES], nonce[crypto_secretbox_NONCEBYTES] = {0}, box[payload_room];
  put_channel_key(key);
  memcpy(nonce, &number, sizeof number);
  count = unescape(data, count);
  crypto_secretbox_easy(box, (unsigned char *)data, count, nonce, key);
  size_t at = (size_t)sprintf(out, "{\\\"nonce\\\":\\\"");
  at += (size_t)EVP_EncodeBlock((unsigned char *)out + at, nonce, sizeof nonce);
  at += (size_t)sprintf(out + at, "\\\",\\\"ciphertext\\\":\\\"");
  at += (size_t)EVP_EncodeBlock((unsigned char *)out + at, box, (int)count + crypto_secretbox_MACBYTES);
  return at + (size_t)sprintf(out + at, "\\\"}");
}

/* Gives the names of members another spelling of the same length: one of eight, or one of the number's own. */
static inline void rename_members(char *data, size_t count, unsigned number, const struct kind *kind) {
  unsigned seed = kind->is_fresh ? number * 2654435761u : (number % 8 + 1) * 2654435761u;
  for (size_t at = 0; at + 4 < count; at++) {
    if (memcmp(data + at, ",\\\"", 3) && memcmp(data + at, "{\\\"", 3)) continue;
    for (at += 3; data[at] != '\\'; at++) data[at] = (char)('a' + (seed = seed * 1664525u + 1013904223u) / 4u % 26u);
  }
}

/* Writes one event whose message has `size` bytes, before encryption. */
static inline size_t make_event(char *out, size_t size, unsigned number, const struct kind *kind) {
  char channel[64] = "bench";
  if (kind->is_encrypted) strcpy(channel, ENCRYPTED_CHANNEL);
  if (kind->has_turns) snprintf(channel, sizeof channel, "bench-%u", number % 8);
  if (kind->channels) snprintf(channel, sizeof channel, "bench-%05lu", number * 7919 % kind->channels);
  size_t at = (size_t)sprintf(
      out, "{\"event\":\"%s\",\"channel\":\"%s\",\"data\":\"",
      kind->has_turns ? names_of_turns[number % 8] : "price.updated", channel);
  size_t room = size - at - 2;
  if (kind->is_encrypted) {
    char data[payload_room];
    make_data(data, room, number, kind->is_text);
    at += encrypt(out + at, data, room, number);
  } else {
    make_data(out + at, room, number, kind->is_text);
    if (kind->has_turns || kind->is_fresh) rename_members(out + at, room, number, kind);
    at += room;
  }
  memcpy(out + at, "\"}", 2);
  return at + 2;
}

/* Writes one server-sent event of exactly `size` bytes in its chunk; returns the length of both. */
static inline size_t put_event(char *out, size_t size, unsigned number) {
  static const char tail[] = "\"}\n\n";
  size_t head = (size_t)sprintf(out, "%zx\r\n", size);
  char *event = out + head;
  size_t at = (size_t)sprintf(
      event,
      "id: %u\nevent: price.updated\ndata: {\"id\":%u,\"symbol\":\"ACME\",\"side\":\"%s\",\"price\":%u.%02u,\"note\":\"",
      number, 1000000 + number, number % 3 ? "buy" : "sell", 100 + number % 800, number % 100);
  for (size_t word = number % 9; at < size - (sizeof tail - 1); word++)
    event[at++] = words_of_note[word % (sizeof words_of_note - 1)];
  memcpy(event + at, tail, sizeof tail - 1);
  memcpy(event + size, "\r\n", 2);
  return head + size + 2;
}

static inline size_t deflate_frame(char *out, z_stream *zlib, const char *payload, size_t count) {
  unsigned char bytes[payload_room];
  zlib->next_in = (unsigned char *)payload;
  zlib->avail_in = (unsigned)count;
  zlib->next_out = bytes;
  zlib->avail_out = sizeof bytes;
  if (deflate(zlib, Z_SYNC_FLUSH) != Z_OK || zlib->avail_out == 0) die("deflate");
  /* The four bytes of the flush are omitted (RFC 7692 section 7.2.1). */
  size_t length = sizeof bytes - zlib->avail_out - 4;
  size_t head = put_head(out, length, 1);
  memcpy(out + head, bytes, length);
  return head + length;
}

/* Prepares a block of events. `zlib` compresses them, with references to earlier messages. */
static inline struct speech prepare(unsigned long count, size_t size, const struct kind *kind, z_stream *zlib) {
  size_t room = block_room;
  /* Gives each channel an event in the block. */
  if (kind->channels && room < 20000 * (size + 4)) room = 20000 * (size + 4);
  struct speech speech = {malloc(room + 4 * size + 2048), calloc(room / 16, sizeof(size_t)), 0, count};
  char *payload = malloc(4 * size + 1024);
  if (!speech.block || !speech.ends || !payload) die("memory");
  size_t at = 0, taken = 0;
  /* A block of compressed frames has as many events as a block of plain frames. */
  for (; taken + size + 16 <= room; speech.frames++) {
    unsigned number = (unsigned)speech.frames;
    if (kind->is_stream) {
      at += put_event(speech.block + at, size, number);
    } else {
      size_t length = make_event(payload, size, number, kind);
      at += zlib ? deflate_frame(speech.block + at, zlib, payload, length)
                 : put_frame(speech.block + at, payload, length);
    }
    speech.ends[speech.frames] = at;
    taken = zlib ? taken + size + 4 : at;
  }
  free(payload);
  return speech;
}

#endif
