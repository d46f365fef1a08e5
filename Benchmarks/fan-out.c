/* Publishes to one channel of a server, receives as all of its subscribers, and prints the server's
 * costs.
 *
 *    fan-out KIND PORT[,PORT...] PID[,PID...] SUBSCRIBERS EVENTS [IDLE [TOGETHER [REDIS-PORT [RATE]]]]
 *
 * KIND is the way to publish:
 * - `api` signs batches of ten events for the HTTP API of `pusher-cli serve`
 * - `lone` signs each event as a call of the HTTP API by itself
 * - `frames` and `masked` send text frames over a connection to /publish, ten at a time, without and
 *   with a client's mask
 *
 * Each delivery is a frame with 200 bytes of text. With no events the connections just stay open
 * for a second. IDLE further connections subscribe to nothing. A subscriber is read after TOGETHER
 * events have arrived, or at once without that number; a large number leaves the server more of the
 * machine's time. RATE limits the events a second. Several servers that form a cluster share the
 * subscribers. The first server gets the events, and the figures are the sums.
 *
 * Prints "seconds cpu-seconds KiB-before KiB-after cpu-seconds-of-idle-connections
 * cpu-seconds-of-the-busiest-thread cpu-seconds-here cpu-seconds-of-others". CPU time and resident
 * memory are Linux's figures of process PID. Idle connections are measured until their greeting.
 * "here" is this program, "others" is everything else. A Redis port above 0 adds
 * "cpu-seconds-of-Redis messages-published bytes-in bytes-out"; the last three are Redis' own
 * figures without this program's queries.
 */
#define _GNU_SOURCE
#include "app.h"
#include "redis.h"
#include <dirent.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/resource.h>

enum {
  limit_seconds = 120,
  most_at_once = 10,
  /* Maximum number of events under way: enough to keep the server busy, too few to fill a queue. */
  window = 500,
  most_threads = 256,
};

struct servers {
  int count, ports[most_servers], processes[most_servers];
};

/* CPU time of processes and of their threads, by thread number. */
struct account {
  double total;
  int count, threads[most_threads];
  double seconds[most_threads];
};

static void add_to_account(struct account *account, int process) {
  char path[300];
  snprintf(path, sizeof path, "/proc/%d/task", process);
  DIR *folder = opendir(path);
  if (!folder) die("the server has gone");
  for (struct dirent *entry; (entry = readdir(folder));) {
    unsigned long long nanoseconds;
    snprintf(path, sizeof path, "/proc/%d/task/%.20s/schedstat", process, entry->d_name);
    FILE *file = entry->d_name[0] == '.' ? NULL : fopen(path, "r");
    if (!file) continue;
    if (fscanf(file, "%llu", &nanoseconds) == 1 && account->count < most_threads) {
      account->threads[account->count] = atoi(entry->d_name);
      account->seconds[account->count++] = (double)nanoseconds / 1e9;
      account->total += (double)nanoseconds / 1e9;
    }
    fclose(file);
  }
  closedir(folder);
}

static struct account cpu_account(const int *processes, int count) {
  struct account account = {0};
  for (int index = 0; index < count; index++) add_to_account(&account, processes[index]);
  return account;
}

/* Returns the largest CPU time of one thread since an earlier account. */
static double busiest(const struct account *before, const struct account *after) {
  double most = 0;
  for (int thread = 0; thread < after->count; thread++) {
    double used = after->seconds[thread];
    for (int former = 0; former < before->count; former++)
      if (before->threads[former] == after->threads[thread]) used -= before->seconds[former];
    if (used > most) most = used;
  }
  return most;
}

/* Returns the CPU time that all processors have worked, or lost to the host. */
static double machine_seconds(void) {
  unsigned long long user, nice, system, idle, waiting, interrupts, soft, stolen;
  FILE *file = fopen("/proc/stat", "r");
  if (!file || fscanf(file, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system, &idle, &waiting,
      &interrupts, &soft, &stolen) != 8) die("no account of the processors");
  fclose(file);
  return (double)(user + nice + system + interrupts + soft + stolen) / (double)sysconf(_SC_CLK_TCK);
}

static long resident_kib(const int *processes, int count) {
  char path[64], line[256];
  long all = 0;
  for (int index = 0; index < count; index++) {
    long kib = 0;
    snprintf(path, sizeof path, "/proc/%d/status", processes[index]);
    FILE *file = fopen(path, "r");
    if (!file) die("the server has gone");
    while (fgets(line, sizeof line, file))
      if (sscanf(line, "VmRSS: %ld", &kib) == 1) break;
    fclose(file);
    all += kib;
  }
  return all;
}

static size_t lone_call(char *call, size_t room, int port) {
  char body[1024], data[text_size + 1];
  put_data(data);
  snprintf(body, sizeof body, "{\"name\":\"e\",\"channel\":\"c\",\"data\":\"%s\"}", data);
  return signed_call(call, room, port, "/apps/1/events", body);
}

static size_t batch_call(char *call, size_t room, int port) {
  char body[8192], data[text_size + 1];
  put_data(data);
  size_t length = (size_t)snprintf(body, sizeof body, "{\"batch\":[");
  for (int index = 0; index < most_at_once; index++)
    length += (size_t)snprintf(body + length, sizeof body - length,
        "%s{\"name\":\"e\",\"channel\":\"c\",\"data\":\"%s\"}", index ? "," : "", data);
  snprintf(body + length, sizeof body - length, "]}");
  return signed_call(call, room, port, "/apps/1/batch_events", body);
}

/* Writes ten text frames, with a client's mask (of zeros) or in the subscribers' form. */
static size_t frames(char *bytes, int is_masked) {
  char *next = bytes;
  for (int index = 0; index < most_at_once; index++) {
    *next++ = (char)0x81;
    *next++ = (char)(is_masked ? 0xFE : 0x7E);
    *next++ = 0;
    *next++ = (char)text_size;
    if (is_masked) next = (char *)memset(next, 0, 4) + 4;
    next = stpcpy(next, head);
    next = (char *)memset(next, 'x', data_size()) + data_size();
    next = stpcpy(next, tail);
  }
  return (size_t)(next - bytes);
}

static unsigned long long take(int descriptor) {
  static char bytes[1 << 18];
  ssize_t count = read(descriptor, bytes, sizeof bytes);
  if (count == 0 || (count < 0 && errno != EAGAIN)) die("the server let a subscriber go");
  return count > 0 ? (unsigned long long)count : 0;
}

/* Returns whether more events may go: no answer is due, and the subscribers keep up. */
static int may_send(int waits, long sent, long complete, long events) {
  return !waits && sent < events && sent - complete < window;
}

/* Returns the milliseconds until the next event is due; 0 if it is due. */
static int pause_before(long sent, double began, long rate) {
  double rest = rate ? began + (double)sent / (double)rate - now() : 0;
  return rest > 0 ? (int)(rest * 1e3) + 1 : 0;
}

/* Delays a subscriber's reads until this number of events has arrived. */
static void read_together(int poll, int operation, int descriptor, int events) {
  int least = events ? events * frame_size : 1;
  if (setsockopt(descriptor, SOL_SOCKET, SO_RCVLOWAT, &least, sizeof least)) die("no reading together");
  struct epoll_event interest = {.events = EPOLLIN, .data.fd = descriptor};
  if (epoll_ctl(poll, operation, descriptor, &interest)) die("no epoll");
}

static void publish(const char *kind, int port, const int *descriptors, long subscribers, long events, int poll, long rate) {
  static char call[16384], answer[4096];
  int is_lone = strcmp(kind, "lone") == 0, has_answers = is_lone || strcmp(kind, "api") == 0;
  size_t size = is_lone       ? lone_call(call, sizeof call, port)
                : has_answers ? batch_call(call, sizeof call, port)
                              : frames(call, strcmp(kind, "masked") == 0);
  struct peer publisher = has_answers ? dial(port) : open_socket(port, "/publish", connected);
  struct epoll_event interest = {.events = EPOLLIN, .data.fd = publisher.descriptor};
  if (epoll_ctl(poll, EPOLL_CTL_ADD, publisher.descriptor, &interest)) die("no epoll");

  double began = now();
  long sent = 0;
  int waits = 0, is_over = 0;
  unsigned long long received = 0, all = (unsigned long long)subscribers * (unsigned long long)events * frame_size;
  while (received < all || waits || sent < events || (!has_answers && !is_over)) {
    long complete = subscribers ? (long)(received / (unsigned long long)subscribers / frame_size) : sent;
    if (may_send(waits, sent, complete, events) && pause_before(sent, began, rate) == 0) {
      if (!peer_write(&publisher, call, size)) die("the server does not listen");
      sent += is_lone ? 1 : most_at_once;
      waits = has_answers;
      /* No further events will complete a batch. */
      for (long index = 0; sent >= events && index < subscribers; index++)
        read_together(poll, EPOLL_CTL_MOD, descriptors[index], 0);
      /* The other kinds have no answers; the end of their connection confirms everything. */
      if (!has_answers && sent >= events) shutdown(publisher.descriptor, SHUT_WR);
    }
    int is_idle = may_send(waits, sent, complete, events);
    struct epoll_event ready[64];
    int count = epoll_wait(poll, ready, 64, is_idle ? pause_before(sent, began, rate) : 10000);
    if (count == 0 && !is_idle) die("nothing comes any more");
    for (int index = 0; index < count; index++) {
      if (ready[index].data.fd != publisher.descriptor) {
        received += take(ready[index].data.fd);
        continue;
      }
      size_t got = peer_read(&publisher, answer, sizeof answer - 1);
      answer[got] = 0;
      if (has_answers && strncmp(answer, "HTTP/1.1 200", 12) != 0) die(answer);
      if (got == 0) {
        is_over = 1;
        epoll_ctl(poll, EPOLL_CTL_DEL, publisher.descriptor, NULL);
      }
      waits = 0;
    }
  }
  close(publisher.descriptor);
}

static int *open_subscribers(const struct servers *servers, long subscribers, enum stage stage, int poll, int together) {
  int *descriptors = calloc((size_t)subscribers + 1, sizeof *descriptors);
  if (!descriptors) die("no memory");
  for (long index = 0; index < subscribers; index++) {
    struct peer peer = open_socket(servers->ports[index % servers->count], "/app/bench?protocol=7", stage);
    fcntl(peer.descriptor, F_SETFL, O_NONBLOCK);
    read_together(poll, EPOLL_CTL_ADD, peer.descriptor, together);
    descriptors[index] = peer.descriptor;
  }
  return descriptors;
}

static struct servers servers_of(const char *ports, const char *processes) {
  struct servers servers;
  servers.count = read_numbers(ports, servers.ports);
  if (read_numbers(processes, servers.processes) != servers.count) die("each server needs a port and a process");
  return servers;
}

int main(int count, char **words) {
  if (count < 6 || count > 10) {
    fprintf(stderr, "usage: fan-out api|lone|frames|masked PORT[,PORT...] PID[,PID...] SUBSCRIBERS EVENTS [IDLE [TOGETHER "
        "[REDIS-PORT [RATE]]]]\n");
    return 2;
  }
  struct servers servers = servers_of(words[2], words[3]);
  long subscribers = atol(words[4]), events = atol(words[5]), idle = count > 6 ? atol(words[6]) : 0;
  int together = count > 7 ? atoi(words[7]) : 0, has_redis = count > 8 && atoi(words[8]) > 0;
  int this_process = getpid();
  long rate = count > 9 ? atol(words[9]) : 0;
  /* A batch larger than the window would never arrive. */
  if (together < 0 || together > window / 2) die("so many cannot be read together");
  alarm(limit_seconds);
  struct rlimit files;
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);

  int poll = epoll_create1(EPOLL_CLOEXEC);
  long before = resident_kib(servers.processes, servers.count);
  double unused = cpu_account(servers.processes, servers.count).total;
  for (long index = 0; index < idle; index++) open_socket(servers.ports[0], "/app/bench?protocol=7", greeted);
  unused = cpu_account(servers.processes, servers.count).total - unused;
  int *descriptors = open_subscribers(&servers, subscribers, events > 0 ? subscribed : connected, poll, together);
  struct redis redis = {0};
  struct redis_account carried = {0};
  if (has_redis) redis = redis_open(atoi(words[8]));
  if (has_redis) carried = redis_account(&redis);
  double redis_seconds = cpu_account(&redis.process, has_redis).total;
  struct account earlier = cpu_account(servers.processes, servers.count);
  double own = cpu_account(&this_process, 1).total, machine = machine_seconds(), began = now();
  if (events > 0) publish(words[1], servers.ports[0], descriptors, subscribers, events, poll, rate);
  else sleep(1);
  double seconds = now() - began;
  struct account later = cpu_account(servers.processes, servers.count);
  redis_seconds = cpu_account(&redis.process, has_redis).total - redis_seconds;
  own = cpu_account(&this_process, 1).total - own;
  double used = later.total - earlier.total, others = machine_seconds() - machine - used - own - redis_seconds;
  printf("%.6f %.6f %ld %ld %.6f %.6f %.6f %.6f", seconds, used, before, resident_kib(servers.processes, servers.count),
      unused, busiest(&earlier, &later), own, others > 0 ? others : 0);
  if (has_redis) {
    struct redis_account all = redis_account(&redis);
    printf(" %.6f %.0f %.0f %.0f", redis_seconds, all.published - carried.published, all.bytes_in - carried.bytes_in,
        all.bytes_out - carried.bytes_out);
  }
  printf("\n");
  return 0;
}
