/* Publishes to one channel of a server whose subscribers are all here, and prints what the server took.
 *
 *   fan-out KIND PORT PID SUBSCRIBERS EVENTS [IDLE [TOGETHER]]
 *
 * KIND says how events are published, ten at a time: `api` signs batches for the HTTP API of `pusher-cli serve`; `frames`
 * and `masked` send text frames over a connection to /publish, without and with a client's mask. Each delivery is a frame
 * with 200 bytes of text. With no events the connections just stay open for a second. IDLE further connections subscribe
 * to nothing and stay open meanwhile. A subscriber is read when TOGETHER events have come to it: as soon as something has
 * come without that number. Many together leave the server more of a machine's time.
 * Prints "seconds cpu-seconds KiB-before KiB-after cpu-seconds-of-idle-connections cpu-seconds-of-the-busiest-thread
 * cpu-seconds-here cpu-seconds-of-others", CPU time and resident memory of process PID by Linux's account; the idle
 * connections' time is what they cost until they were greeted, "here" is this program, "others" all that also ran.
 */
#define _GNU_SOURCE
#include "peer.h"
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>

enum {
  limit_seconds = 120,
  text_size = 200,
  frame_size = text_size + 4,
  batch = 10,
  /* How many events may be under way: enough to keep the server busy, too few to fill a subscriber's queue. */
  window = 500,
  most_threads = 256,
};

static int port;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* CPU time of a process and of its threads, by their numbers. */
struct account {
  double total;
  int count, threads[most_threads];
  double seconds[most_threads];
};

/* What all threads that a process has now have used. */
static struct account cpu_account(int process) {
  struct account account = {0};
  char path[300];
  snprintf(path, sizeof path, "/proc/%d/task", process);
  DIR *folder = opendir(path);
  if (!folder) die("the server has gone");
  for (struct dirent *entry; (entry = readdir(folder));) {
    unsigned long long nanoseconds;
    snprintf(path, sizeof path, "/proc/%d/task/%.20s/schedstat", process, entry->d_name);
    FILE *file = entry->d_name[0] == '.' ? NULL : fopen(path, "r");
    if (!file) continue;
    if (fscanf(file, "%llu", &nanoseconds) == 1 && account.count < most_threads) {
      account.threads[account.count] = atoi(entry->d_name);
      account.seconds[account.count++] = (double)nanoseconds / 1e9;
      account.total += (double)nanoseconds / 1e9;
    }
    fclose(file);
  }
  closedir(folder);
  return account;
}

/* The most that one thread has used since an earlier account. */
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

/* CPU time that all processors have worked since the system's start, or been taken away. */
static double machine_seconds(void) {
  unsigned long long user, nice, system, idle, waiting, interrupts, soft, stolen;
  FILE *file = fopen("/proc/stat", "r");
  if (!file || fscanf(file, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system, &idle, &waiting,
      &interrupts, &soft, &stolen) != 8) die("no account of the processors");
  fclose(file);
  return (double)(user + nice + system + interrupts + soft + stolen) / (double)sysconf(_SC_CLK_TCK);
}

static long resident_kib(int process) {
  char path[64], line[256];
  long kib = 0;
  snprintf(path, sizeof path, "/proc/%d/status", process);
  FILE *file = fopen(path, "r");
  if (!file) die("the server has gone");
  while (fgets(line, sizeof line, file))
    if (sscanf(line, "VmRSS: %ld", &kib) == 1) break;
  fclose(file);
  return kib;
}

static struct peer dial(void) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  struct peer peer = {.descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  if (peer.descriptor < 0) die("no socket");
  if (connect(peer.descriptor, (struct sockaddr *)&address, sizeof address)) die("no connection");
  int yes = 1;
  setsockopt(peer.descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  return peer;
}

static void expect(struct peer *peer, char *got, size_t room, size_t filled, const char *mark) {
  while (!memmem(got, filled, mark, strlen(mark))) {
    size_t count = filled < room ? peer_read(peer, got + filled, room - filled) : 0;
    if (count == 0) die(mark);
    filled += count;
  }
}

/* A text frame of a client, whose mask changes nothing because it is zero; less than 126 bytes. */
static size_t masked(char *frame, const char *text) {
  size_t length = strlen(text);
  frame[0] = (char)0x81;
  frame[1] = (char)(0x80 | length);
  memset(frame + 2, 0, 4);
  memcpy(frame + 6, text, length);
  return length + 6;
}

/* How far a socket goes. */
enum stage { connected, greeted, subscribed };

static struct peer open_socket(const char *path, enum stage stage) {
  struct peer peer = dial();
  char bytes[4096];
  size_t end, filled;
  int length = snprintf(bytes, sizeof bytes,
      "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
      "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n", path, port);
  if (!peer_write(&peer, bytes, (size_t)length)) die("the server does not listen");
  if (!(filled = peer_read_head(&peer, bytes, sizeof bytes, &end))) die("the server did not answer");
  if (stage == connected) return peer;
  expect(&peer, bytes, sizeof bytes, filled, "connection_established");
  if (stage == greeted) return peer;
  char frame[200];
  size_t size = masked(frame, "{\"event\":\"pusher:subscribe\",\"data\":{\"channel\":\"c\"}}");
  if (!peer_write(&peer, frame, size)) die("the server does not listen");
  expect(&peer, bytes, sizeof bytes, 0, "subscription_succeeded");
  return peer;
}

static const char head[] = "{\"event\":\"e\",\"channel\":\"c\",\"data\":\"", tail[] = "\"}";

static size_t data_size(void) { return text_size - strlen(head) - strlen(tail); }

/* Bytes as lower-case hexadecimal digits, ended by a zero byte. */
static void put_hex(char *out, const unsigned char *bytes, unsigned int count) {
  for (unsigned int index = 0; index < count; index++) sprintf(out + 2 * index, "%02x", bytes[index]);
}

/* A signed call of the HTTP API with ten events. */
static size_t api_call(char *call, size_t room) {
  char body[8192], query[400], text[500], data[text_size + 1];
  memset(data, 'x', data_size());
  data[data_size()] = 0;
  size_t length = (size_t)snprintf(body, sizeof body, "{\"batch\":[");
  for (int index = 0; index < batch; index++)
    length += (size_t)snprintf(body + length, sizeof body - length,
        "%s{\"name\":\"e\",\"channel\":\"c\",\"data\":\"%s\"}", index ? "," : "", data);
  length += (size_t)snprintf(body + length, sizeof body - length, "]}");
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size;
  char hex[2 * EVP_MAX_MD_SIZE + 1];
  EVP_Digest(body, length, digest, &size, EVP_md5(), NULL);
  put_hex(hex, digest, size);
  snprintf(query, sizeof query, "auth_key=bench&auth_timestamp=%lld&auth_version=1.0&body_md5=%s",
      (long long)time(NULL), hex);
  int count = snprintf(text, sizeof text, "POST\n/apps/1/batch_events\n%s", query);
  HMAC(EVP_sha256(), "bench", 5, (unsigned char *)text, (size_t)count, digest, &size);
  put_hex(hex, digest, size);
  return (size_t)snprintf(call, room,
      "POST /apps/1/batch_events?%s&auth_signature=%s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n"
      "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s", query, hex, port, length, body);
}

/* Ten text frames, with a client's mask (of zeros) or as the subscribers are to get them. */
static size_t frames(char *bytes, int is_masked) {
  char *next = bytes;
  for (int index = 0; index < batch; index++) {
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

/* Reads what has come at one subscriber; the rest comes with the next turn. */
static unsigned long long take(int descriptor) {
  static char bytes[1 << 18];
  ssize_t count = read(descriptor, bytes, sizeof bytes);
  if (count == 0 || (count < 0 && errno != EAGAIN)) die("the server let a subscriber go");
  return count > 0 ? (unsigned long long)count : 0;
}

/* Whether the next ten events may go: not before an answer that is awaited, nor too far ahead of the subscribers. */
static int may_send(int waits, long sent, long complete, long events) {
  return !waits && sent < events && sent - complete < window;
}

/* Has a subscriber read when so many events have come to it. */
static void read_together(int poll, int operation, int descriptor, int events) {
  int least = events ? events * frame_size : 1;
  if (setsockopt(descriptor, SOL_SOCKET, SO_RCVLOWAT, &least, sizeof least)) die("no reading together");
  struct epoll_event interest = {.events = EPOLLIN, .data.fd = descriptor};
  if (epoll_ctl(poll, operation, descriptor, &interest)) die("no epoll");
}

static void publish(const char *kind, const int *descriptors, long subscribers, long events, int poll) {
  static char call[16384], answer[4096];
  int has_answers = strcmp(kind, "api") == 0;
  size_t size = has_answers ? api_call(call, sizeof call) : frames(call, strcmp(kind, "masked") == 0);
  struct peer publisher = has_answers ? dial() : open_socket("/publish", connected);
  struct epoll_event interest = {.events = EPOLLIN, .data.fd = publisher.descriptor};
  if (epoll_ctl(poll, EPOLL_CTL_ADD, publisher.descriptor, &interest)) die("no epoll");

  long sent = 0;
  int waits = 0, is_over = 0;
  unsigned long long received = 0, all = (unsigned long long)subscribers * (unsigned long long)events * frame_size;
  while (received < all || waits || sent < events || (!has_answers && !is_over)) {
    long complete = subscribers ? (long)(received / (unsigned long long)subscribers / frame_size) : sent;
    if (may_send(waits, sent, complete, events)) {
      if (!peer_write(&publisher, call, size)) die("the server does not listen");
      sent += batch;
      waits = has_answers;
      /* No others follow the last ones. */
      for (long index = 0; sent >= events && index < subscribers; index++)
        read_together(poll, EPOLL_CTL_MOD, descriptors[index], 0);
      /* The other kinds have no answers: their connection's end says that everything has been taken. */
      if (!has_answers && sent >= events) shutdown(publisher.descriptor, SHUT_WR);
    }
    int is_idle = may_send(waits, sent, complete, events);
    struct epoll_event ready[64];
    int count = epoll_wait(poll, ready, 64, is_idle ? 0 : 10000);
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

int main(int count, char **words) {
  if (count < 6 || count > 8) {
    fprintf(stderr, "usage: fan-out api|frames|masked PORT PID SUBSCRIBERS EVENTS [IDLE [TOGETHER]]\n");
    return 2;
  }
  port = atoi(words[2]);
  int server = atoi(words[3]);
  long subscribers = atol(words[4]), events = atol(words[5]), idle = count > 6 ? atol(words[6]) : 0;
  int together = count > 7 ? atoi(words[7]) : 0;
  /* More than the window lets out would never come. */
  if (together < 0 || together > window / 2) die("so many cannot be read together");
  alarm(limit_seconds);
  struct rlimit files;
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);

  int poll = epoll_create1(EPOLL_CLOEXEC);
  long before = resident_kib(server);
  double unused = cpu_account(server).total;
  for (long index = 0; index < idle; index++) open_socket("/app/bench?protocol=7", greeted);
  unused = cpu_account(server).total - unused;
  int *descriptors = calloc((size_t)subscribers + 1, sizeof *descriptors);
  if (!descriptors) die("no memory");
  for (long index = 0; index < subscribers; index++) {
    struct peer peer = open_socket("/app/bench?protocol=7", events > 0 ? subscribed : connected);
    fcntl(peer.descriptor, F_SETFL, O_NONBLOCK);
    read_together(poll, EPOLL_CTL_ADD, peer.descriptor, together);
    descriptors[index] = peer.descriptor;
  }
  struct account earlier = cpu_account(server), here = cpu_account(getpid());
  double machine = machine_seconds(), began = now();
  if (events > 0) publish(words[1], descriptors, subscribers, events, poll);
  else sleep(1);
  double seconds = now() - began;
  struct account later = cpu_account(server);
  double used = later.total - earlier.total, own = cpu_account(getpid()).total - here.total;
  double others = machine_seconds() - machine - used - own;
  printf("%.6f %.6f %ld %ld %.6f %.6f %.6f %.6f\n", seconds, used, before, resident_kib(server), unused,
      busiest(&earlier, &later), own, others > 0 ? others : 0);
  return 0;
}
