/* The floor: connects, upgrades, subscribes, then reads until bench.end.
 *
 *    floor-reader PORT [tls] [copy] [sse]
 *
 * It discards its input; with `copy` it writes everything after the answer's head to standard
 * output. It checks only the last bytes of a read for the end. No client that checks all bytes can
 * be faster. With `sse` it requests an event stream, and reads to the end of the body.
 */
#define _GNU_SOURCE
#include "floor.h"

int main(int count, char **words) {
  int has_tls = 0, copies = 0, is_stream = 0;
  for (int index = 2; index < count; index++) {
    if (!strcmp(words[index], "tls")) has_tls = 1;
    if (!strcmp(words[index], "copy")) copies = 1;
    if (!strcmp(words[index], "sse")) is_stream = 1;
  }
  if (count < 2) {
    fprintf(stderr, "usage: floor-reader PORT [tls] [copy] [sse]\n");
    return 2;
  }
  static char bytes[input_room];
  struct floor floor = floor_dial(words[1], has_tls);
  size_t got = floor_ask(&floor, is_stream ? "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" : UPGRADE "\r\n", bytes);
  if (!is_stream) floor_subscribe(&floor);
  for (;;) {
    if (copies) put_all(bytes, got);
    if (floor_ended(&floor, bytes, got, is_stream ? "\r\n0\r\n\r\n" : "bench.end")) return 0;
    if (!(got = floor_read(&floor, bytes))) die("the source ended early");
  }
}
