/* libsodium alone: decrypts each event of an encrypting source and copies its content to standard
 * output, one a line. It searches nonce and box in the first event; they have the same place in all
 * others. OpenSSL decodes the base64, because it is faster than libsodium.
 *
 *    secretbox-floor PORT
 */
#define _GNU_SOURCE
#include <openssl/evp.h>

#include "encrypted.h"
#include "floor-messages.h"

static unsigned char key[crypto_secretbox_KEYBYTES];

struct place {
  size_t at, count;
};

static struct place place_of(const char *payload, size_t count, const char *name) {
  const char *start = memmem(payload, count, name, strlen(name));
  if (!start) die("an event without a box");
  start += strlen(name);
  const char *end = memchr(start, '\\', count - (size_t)(start - payload));
  if (!end) die("an event without a box");
  return (struct place){(size_t)(start - payload), (size_t)(end - start)};
}

static size_t decode(unsigned char *out, const char *payload, struct place place) {
  int length = EVP_DecodeBlock(out, (const unsigned char *)payload + place.at, (int)place.count);
  if (length < 0) die("base64");
  for (const char *end = payload + place.at + place.count; *--end == '=';) length--;
  return (size_t)length;
}

static void take(char *payload, size_t count, int is_compressed) {
  static struct place nonce_place, box_place;
  static size_t size;
  /* The source's own messages are shorter, and are not copied. */
  if (count < 200 || is_compressed) return;
  if (!size) {
    size = count;
    nonce_place = place_of(payload, count, "nonce\\\":\\\"");
    box_place = place_of(payload, count, "ciphertext\\\":\\\"");
  }
  unsigned char nonce[crypto_secretbox_NONCEBYTES + 3], box[message_room];
  if (count != size) die("an event of another size");
  decode(nonce, payload, nonce_place);
  size_t length = decode(box, payload, box_place);
  if (crypto_secretbox_open_easy((unsigned char *)output + filled, box, length, nonce, key)) die("a box that does not open");
  filled += length - crypto_secretbox_MACBYTES;
  output[filled++] = '\n';
}

int main(int count, char **words) {
  if (count != 2) {
    fprintf(stderr, "usage: secretbox-floor PORT\n");
    return 2;
  }
  if (sodium_init() < 0) die("libsodium");
  put_channel_key(key);
  static char bytes[input_room + message_room];
  struct floor floor = floor_dial(words[1], 0);
  size_t left = floor_ask(&floor, UPGRADE "\r\n", bytes);
  floor_subscribe(&floor);
  take_messages(&floor, bytes, left, take);
  return 0;
}
