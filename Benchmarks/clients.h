#ifndef CLIENTS_H
#define CLIENTS_H

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "child.h"
#include "peer.h"

enum { most_clients = 4, most_values = 100000 };

struct client {
  char **words;
  pid_t process;
  double *values; /* seconds */
  size_t count;
};

static struct client clients[most_clients];
static int client_count;

static inline void end_client(struct client *client) {
  if (client->process <= 0) return;
  kill(client->process, SIGKILL);
  waitpid(client->process, NULL, 0);
  client->process = 0;
}

static inline void end_clients(void) {
  for (int index = 0; index < client_count; index++) end_client(&clients[index]);
}

/* Handles SIGALRM with async-signal-safe calls only. */
static inline void end_late(int number) {
  static const char text[] = "benchmark: it took too long\n";
  (void)number;
  for (int index = 0; index < client_count; index++)
    if (clients[index].process > 0) kill(clients[index].process, SIGKILL);
  if (write(2, text, sizeof text - 1)) _exit(1);
  _exit(1);
}

/* Finds the clients in the words, each after a "--", and puts the port in the place of PORT. */
static inline void find_clients(char **words, int listening_port, unsigned seconds) {
  char port[16];
  snprintf(port, sizeof port, "%d", listening_port);
  for (; *words; words++) {
    if (strcmp(*words, "--")) continue;
    *words = NULL;
    if (client_count == most_clients || !words[1]) die("one to four clients, each after --");
    clients[client_count].words = words + 1;
    if (!(clients[client_count++].values = calloc(most_values, sizeof(double)))) die("memory");
  }
  if (client_count == 0) die("one to four clients, each after --");
  for (int index = 0; index < client_count; index++)
    if (!put_port(clients[index].words, port)) die("memory");
  signal(SIGALRM, end_late);
  atexit(end_clients);
  alarm(seconds);
}

static inline void run_client(struct client *client, int output) {
  int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  client->process = start_child(client->words, nothing, output < 0 ? nothing : output);
  if (nothing < 0 || client->process < 0) die("starting a client");
  close(nothing);
}

static inline void note_value(struct client *client, double value) {
  if (client->count == most_values) die("too many values");
  client->values[client->count++] = value;
}

static inline int ascending(const void *one, const void *other) {
  double first = *(const double *)one, second = *(const double *)other;
  return (first > second) - (first < second);
}

/* Returns the largest delay within that share of the values, in microseconds. */
static inline double share_of(struct client *client, double share) {
  if (client->count == 0) die("no values");
  qsort(client->values, client->count, sizeof *client->values, ascending);
  return client->values[(size_t)(share * (double)(client->count - 1))] * 1e6;
}

#endif
