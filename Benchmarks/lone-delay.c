/* Sends single events to clients, and prints the delay through a client: from before the write to
 * the socket until the client's output is read from a pipe.
 *
 *    lone-delay EVENTS PAUSE -- CLIENT WORD... [-- CLIENT WORD...]
 *
 * PORT in a client's words becomes the port to connect to. All clients stay connected, and get
 * events in turns of fifty, so that other load affects all of them. An event is sent PAUSE
 * microseconds after the one before has arrived. The first event of a turn does not count, because
 * its client has slept through the other turns. Each event's output must end with a line feed or a
 * brace, and contain the event's number.
 *
 * Prints "median 99th-percentile" for each client on one line, in microseconds.
 */
#define _GNU_SOURCE
#include <poll.h>

#include "clients.h"
#include "speech.h"

enum { limit_seconds = 60, patience_milliseconds = 10000, quiet_milliseconds = 100, turn_events = 50, message_size = 200 };

struct line {
  struct peer peer;
  int output; /* where the client's output is read */
};

static struct line lines[most_clients];

static int is_ready(int descriptor, int milliseconds) {
  struct pollfd waiting = {.fd = descriptor, .events = POLLIN};
  return poll(&waiting, 1, milliseconds) == 1;
}

static void connect_client(struct client *client, struct line *line, int listener) {
  int ends[2];
  char bytes[4096];
  if (pipe2(ends, O_CLOEXEC)) die("pipe");
  run_client(client, ends[1]);
  close(ends[1]);
  line->output = ends[0];
  if (!is_ready(listener, patience_milliseconds)) die("a client that does not connect");
  line->peer = accept_peer(listener);
  if (!upgrade(&line->peer, "") || !greet(&line->peer) || !confirm_channels(&line->peer, 1, NULL))
    die("a client that does not subscribe");
  while (is_ready(line->output, quiet_milliseconds))
    if (read(line->output, bytes, sizeof bytes) <= 0) die("a client that ended");
}

/* Sends an event, and returns the delay of its output in seconds. */
static double send_one(struct line *line, unsigned number) {
  static const struct kind kind;
  char payload[message_size + 16], frame[message_size + 32], output[4096], mark[32];
  size_t size = put_frame(frame, payload, make_event(payload, message_size, number, &kind)), filled = 0;
  snprintf(mark, sizeof mark, "%u,", 1000000 + number);
  double start = now();
  if (!peer_write(&line->peer, frame, size)) die("a client that ended");
  do {
    if (!is_ready(line->output, patience_milliseconds)) die("an event that was lost");
    ssize_t count = read(line->output, output + filled, sizeof output - filled);
    if (count <= 0) die("a client that ended");
    filled += (size_t)count;
  } while (output[filled - 1] != '\n' && output[filled - 1] != '}');
  double passed = now() - start;
  if (!memmem(output, filled, mark, strlen(mark))) die("an event with the wrong number");
  return passed;
}

int main(int count, char **words) {
  unsigned events = count > 3 ? (unsigned)atoi(words[1]) : 0;
  long pause = count > 3 ? atol(words[2]) : 0;
  if (events < 1 || events > most_values || pause < 0 || pause > 1000000) {
    fprintf(stderr, "usage: lone-delay EVENTS PAUSE -- CLIENT WORD... [-- CLIENT WORD...]\n");
    return 2;
  }
  signal(SIGPIPE, SIG_IGN);
  int port, listener = listen_anywhere(&port);
  find_clients(words + 3, port, limit_seconds);
  for (int index = 0; index < client_count; index++) connect_client(&clients[index], &lines[index], listener);
  struct timespec wait = {.tv_sec = pause / 1000000, .tv_nsec = pause % 1000000 * 1000};
  for (unsigned sent = 0; sent < events; sent += turn_events)
    for (int index = 0; index < client_count; index++)
      for (unsigned event = 0; event <= turn_events; event++) {
        double passed = send_one(&lines[index], sent + event);
        if (event > 0) note_value(&clients[index], passed);
        nanosleep(&wait, NULL);
      }
  for (int index = 0; index < client_count; index++)
    printf("%s%.1f %.1f", index ? " " : "", share_of(&clients[index], 0.5), share_of(&clients[index], 0.99));
  printf("\n");
  return 0;
}
