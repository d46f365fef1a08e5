/* Compares a form of CSystemVectors with the plain functions: every byte at every place, and random bytes. */
#include <stdio.h>

#include "../../Sources/CSystemVectors/shim.h"

#define SAME(name, ...) (pusher_##name(__VA_ARGS__) == pusher_plain_##name(__VA_ARGS__))
#define BOTH(name, bytes) ((pusher_##name(bytes) != 0) == (pusher_plain_##name(bytes) != 0))

static int check(const uint8_t *bytes) {
  int is_right = SAME(string_ends_16, bytes) && SAME(string_ends_32, bytes) && SAME(digits_16, bytes) &&
                 SAME(differences_16, bytes, bytes + 16) && SAME(matches_32, bytes, bytes[7]) &&
                 SAME(line_ends_32, bytes) && SAME(unprintable_32, bytes) && SAME(brackets_32, bytes) &&
                 BOTH(has_string_end_64, bytes) && BOTH(has_high_64, bytes) &&
                 BOTH(has_high_128, bytes);
  if (is_right) return 1;
  for (int place = 0; place < 128; place++) printf("%02x", bytes[place]);
  printf("\n");
  return 0;
}

int main(void) {
  static const uint8_t arounds[] = {'x', '"', '5', 0, 0xFF};
  uint8_t bytes[128];
  unsigned seed = 71;
  for (int around = 0; around < 5; around++)
    for (int place = 0; place < 128; place++)
      for (int byte = 0; byte < 256; byte++) {
        for (int at = 0; at < 128; at++) bytes[at] = arounds[around];
        bytes[place] = (uint8_t)byte;
        if (!check(bytes)) return 1;
      }
  for (int round = 0; round < 20000; round++) {
    for (int at = 0; at < 128; at++) {
      seed = seed * 1664525u + 1013904223u;
      bytes[at] = (uint8_t)(seed >> 24 & (round & 1 ? 0xFF : 0x7F));
    }
    if (!check(bytes)) return 1;
  }
  return 0;
}
