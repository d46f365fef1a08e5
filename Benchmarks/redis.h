/* Counters of a Redis on this machine: its messages and its bytes in both directions. */
#ifndef REDIS_H
#define REDIS_H

#include "app.h"

struct redis {
  struct peer peer;
  int process;
  /* Bytes of this program's own queries and answers, as counted by Redis at the last query. */
  double asked, answered;
};

/* Counters since Redis' start, without this program's own queries. */
struct redis_account {
  double published, bytes_in, bytes_out;
};

/* Returns the number after a name in the answer to INFO; 0 without the name. */
static inline double info_number(const char *info, const char *name) {
  const char *place = strstr(info, name);
  return place ? strtod(place + strlen(name), NULL) : 0;
}

/* Queries all counters, and returns the size of the answer, which `info` gets as text. */
static inline size_t redis_info(struct redis *redis, char *info, size_t room) {
  if (!peer_write(&redis->peer, "INFO all\r\n", 10)) die("Redis does not listen");
  size_t filled = 0, length = 0;
  do {
    size_t count = filled + 1 < room ? peer_read(&redis->peer, info + filled, room - 1 - filled) : 0;
    if (count == 0) die("Redis did not answer");
    filled += count;
    info[filled] = 0;
    char *end = strstr(info, "\r\n");
    /* The answer's head is its length; an empty line ends it. */
    if (end) length = (size_t)(end - info) + 2 + (size_t)strtoul(info + 1, NULL, 10) + 2;
  } while (length == 0 || filled < length);
  if (info[0] != '$') die(info);
  return filled;
}

static inline struct redis redis_open(int port) {
  char info[1 << 16];
  struct redis redis = {.peer = dial(port), .asked = strlen("INFO all\r\n")};
  redis.answered = (double)redis_info(&redis, info, sizeof info);
  redis.process = (int)info_number(info, "process_id:");
  return redis;
}

static inline struct redis_account redis_account(struct redis *redis) {
  char info[1 << 16];
  size_t size = redis_info(redis, info, sizeof info);
  /* Redis counts an answer when it is written, after its contents were made. */
  redis->asked += strlen("INFO all\r\n");
  struct redis_account account = {
    .published = info_number(info, "cmdstat_publish:calls="),
    .bytes_in = info_number(info, "total_net_input_bytes:") - redis->asked,
    .bytes_out = info_number(info, "total_net_output_bytes:") - redis->answered,
  };
  redis->answered += (double)size;
  return account;
}

#endif
