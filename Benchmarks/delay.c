/* Publishes single events to a server, and prints the delay from the HTTP API call to the
 * subscribers.
 *
 *    delay PORT SUBSCRIBER-PORT[,SUBSCRIBER-PORT...] EVENTS PAUSE
 *
 * This program has one subscriber for each SUBSCRIBER-PORT, and keeps the API's connection open. It
 * publishes an event PAUSE microseconds after all subscribers have the one before and its call is
 * answered, so the servers are idle. The delay runs from before the call is written to the last
 * byte of the frame.
 *
 * Prints "median 99th-percentile" for each subscriber on one line, in microseconds.
 */
#define _GNU_SOURCE
#include "app.h"
#include <poll.h>

enum {
  limit_seconds = 120,
  most_events = 1000000,
};

static size_t event_call(char *call, size_t room, int port) {
  char body[1024], data[text_size + 1];
  put_data(data);
  snprintf(body, sizeof body, "{\"name\":\"e\",\"channels\":[\"c\"],\"data\":\"%s\"}", data);
  return signed_call(call, room, port, "/apps/1/events", body);
}

/* Publishes one event, and stores each subscriber's delay. The last socket is the API's. */
static void publish_one(struct pollfd *sockets, int subscribers, const char *call, size_t size, double **delays,
    long event) {
  size_t missing[most_servers];
  int waiting = subscribers + 1;
  for (int index = 0; index < subscribers; index++) missing[index] = frame_size;
  double began = now();
  if (write(sockets[subscribers].fd, call, size) != (ssize_t)size) die("the server does not listen");
  while (waiting) {
    if (poll(sockets, (nfds_t)subscribers + 1, 10000) <= 0) die("nothing comes any more");
    double passed = now() - began;
    for (int index = 0; index <= subscribers; index++) {
      char bytes[4096];
      if (!sockets[index].revents) continue;
      ssize_t count = read(sockets[index].fd, bytes, sizeof bytes - 1);
      if (count <= 0) die("the server let a connection go");
      bytes[count] = 0;
      if (index == subscribers) {
        if (strncmp(bytes, "HTTP/1.1 200", 12) != 0) die(bytes);
        waiting--;
        continue;
      }
      if ((size_t)count > missing[index]) die("more came than one event");
      missing[index] -= (size_t)count;
      if (missing[index] > 0) continue;
      delays[index][event] = passed;
      waiting--;
    }
  }
}

static int ascending(const void *one, const void *other) {
  double first = *(const double *)one, second = *(const double *)other;
  return (first > second) - (first < second);
}

int main(int count, char **words) {
  long events = count == 5 ? atol(words[3]) : 0, pause = count == 5 ? atol(words[4]) : 0;
  if (events < 1 || events > most_events || pause < 0) {
    fprintf(stderr, "usage: delay PORT SUBSCRIBER-PORT[,SUBSCRIBER-PORT...] EVENTS PAUSE\n");
    return 2;
  }
  alarm(limit_seconds);
  int ports[most_servers], subscribers = read_numbers(words[2], ports), publisher = atoi(words[1]);
  struct pollfd sockets[most_servers + 1];
  for (int index = 0; index < subscribers; index++)
    sockets[index].fd = open_socket(ports[index], "/app/bench?protocol=7", subscribed).descriptor;
  sockets[subscribers].fd = dial(publisher).descriptor;
  for (int index = 0; index <= subscribers; index++) sockets[index].events = POLLIN;
  char call[4096];
  size_t size = event_call(call, sizeof call, publisher);
  double *delays[most_servers];
  for (int index = 0; index < subscribers; index++)
    if (!(delays[index] = calloc((size_t)events, sizeof **delays))) die("no memory");
  struct timespec wait = {.tv_sec = pause / 1000000, .tv_nsec = pause % 1000000 * 1000};
  for (long event = 0; event < events; event++) {
    publish_one(sockets, subscribers, call, size, delays, event);
    nanosleep(&wait, NULL);
  }
  for (int index = 0; index < subscribers; index++) {
    qsort(delays[index], (size_t)events, sizeof **delays, ascending);
    printf("%s%.1f %.1f", index ? " " : "", delays[index][events / 2] * 1e6, delays[index][events * 99 / 100] * 1e6);
  }
  printf("\n");
  return 0;
}
