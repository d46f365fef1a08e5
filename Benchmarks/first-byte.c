/* Starts clients repeatedly, and prints the time from the start to the first byte that the client
 * sends.
 *
 *    first-byte TIMES -- CLIENT WORD... [-- CLIENT WORD...]
 *
 * PORT in a client's words becomes the port to connect to. The clients take turns. The time runs
 * from before the fork to the first byte; then the client is killed. Prints each client's median on
 * one line, in microseconds.
 */
#define _GNU_SOURCE
#include <poll.h>

#include "clients.h"
#include "source.h"

enum { limit_seconds = 60, patience_milliseconds = 10000 };

static int is_ready(int descriptor) {
  struct pollfd waiting = {.fd = descriptor, .events = POLLIN};
  return poll(&waiting, 1, patience_milliseconds) == 1;
}

static double start_once(struct client *client, int listener) {
  double start = now();
  run_client(client, -1);
  if (!is_ready(listener)) die("a client that does not connect");
  struct peer peer = accept_peer(listener);
  if (!is_ready(peer.descriptor)) die("a client that says nothing");
  double passed = now() - start;
  char byte;
  if (read(peer.descriptor, &byte, 1) != 1) die("a client that ended");
  end_client(client);
  close(peer.descriptor);
  return passed;
}

int main(int count, char **words) {
  int times = count > 2 ? atoi(words[1]) : 0;
  if (times < 1 || times > most_values) {
    fprintf(stderr, "usage: first-byte TIMES -- CLIENT WORD... [-- CLIENT WORD...]\n");
    return 2;
  }
  int port, listener = listen_anywhere(&port);
  find_clients(words + 2, port, limit_seconds);
  for (int time = 0; time < times; time++)
    for (int index = 0; index < client_count; index++)
      note_value(&clients[index], start_once(&clients[index], listener));
  for (int index = 0; index < client_count; index++) printf("%s%.1f", index ? " " : "", share_of(&clients[index], 0.5));
  printf("\n");
  return 0;
}
