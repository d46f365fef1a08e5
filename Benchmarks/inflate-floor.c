/* zlib alone: inflates each message of a compressing source and copies it to standard output, one a
 * line. It parses only the frames' lengths. Uncompressed messages are copied as they are.
 *
 *    inflate-floor PORT
 */
#define _GNU_SOURCE
#include <zlib.h>

#include "floor-messages.h"

static z_stream zlib;

static void take(char *payload, size_t count, int is_compressed) {
  static char flush[] = {0, 0, (char)0xff, (char)0xff};
  if (is_compressed) {
    zlib.next_out = (unsigned char *)output + filled;
    zlib.avail_out = message_room;
    zlib.next_in = (unsigned char *)payload;
    zlib.avail_in = (unsigned)count;
    if (inflate(&zlib, Z_NO_FLUSH) != Z_OK) die("inflating");
    zlib.next_in = (unsigned char *)flush;
    zlib.avail_in = sizeof flush;
    if (inflate(&zlib, Z_SYNC_FLUSH) != Z_OK || zlib.avail_in) die("inflating");
    filled += message_room - zlib.avail_out;
  } else {
    memcpy(output + filled, payload, count);
    filled += count;
  }
  output[filled++] = '\n';
}

int main(int count, char **words) {
  if (count != 2) {
    fprintf(stderr, "usage: inflate-floor PORT\n");
    return 2;
  }
  static char bytes[input_room + message_room];
  if (inflateInit2(&zlib, -15) != Z_OK) die("zlib");
  struct floor floor = floor_dial(words[1], 0);
  size_t left = floor_ask(&floor, UPGRADE "Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n", bytes);
  floor_subscribe(&floor);
  take_messages(&floor, bytes, left, take);
  return 0;
}
