/* Runs one row: a source, a client, and the sink that reads the client's output. Prints the
 * client's costs.
 *
 *    measure SINK SOURCE WORD... -- CLIENT WORD...
 *
 * PORT in the client's words becomes the port that the source printed. Prints "seconds cpu-seconds
 * peak-KiB lines". CPU time and memory are the kernel's figures of the client alone, with its
 * start. If the source prints "began", CPU time counts from then on. This program is small on
 * purpose: a child's peak memory begins with the peak of the process that forked it.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include "child.h"

enum { limit_seconds = 180 };

static pid_t source, client, sink;

static void end_children(void) {
  pid_t all[] = {client, sink, source};
  for (int index = 0; index < 3; index++)
    if (all[index] > 0) kill(all[index], SIGKILL);
}

static void too_late(int number) {
  static const char text[] = "measure: the row took too long\n";
  (void)number;
  end_children();
  if (write(2, text, sizeof text - 1)) _exit(1);
  _exit(1);
}

static void die(const char *what) {
  fprintf(stderr, "measure: %s\n", what);
  end_children();
  exit(1);
}

static pid_t start(char **words, int input, int output) {
  pid_t child = start_child(words, input, output);
  if (child < 0) die("fork failed");
  return child;
}

static double seconds(struct timeval time) {
  return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

static double spent(void) {
  clockid_t clock;
  struct timespec time;
  if (clock_getcpuclockid(client, &clock) || clock_gettime(clock, &time)) die("the client has no clock");
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Waits until the source prints something; returns 0 if the client ends first. */
static int await_word(int descriptor) {
  struct pollfd waiting = {.fd = descriptor, .events = POLLIN};
  siginfo_t ended = {0};
  while (poll(&waiting, 1, 10) == 0)
    if (waitid(P_PID, (id_t)client, &ended, WEXITED | WNOHANG | WNOWAIT) || ended.si_pid) return 0;
  return 1;
}

/* Returns the client's words, which follow the source's "--"; NULL without any. */
static char **find_client(int count, char **words) {
  for (int index = 3; index < count; index++)
    if (strcmp(words[index], "--") == 0) {
      words[index] = NULL;
      return words[index + 1] ? words + index + 1 : NULL;
    }
  return NULL;
}

/* Waits for the client's end and prints the row; returns -1 if the client failed. `input` is the
 * source's output, and `counted` the sink's. */
static int finish_row(char **client_words, int input, FILE *told, FILE *counted) {
  /* The source prints "began", or "seconds" after the client has left. */
  char word[16] = "";
  double before = 0, wall;
  if (await_word(input) && fscanf(told, " %15s", word) != 1) die("the source told nothing");
  int has_begun = strcmp(word, "began") == 0;
  if (has_begun) before = spent();
  int status;
  struct rusage used;
  if (wait4(client, &status, 0, &used) < 0) die("the client cannot be waited for");
  client = 0;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    fprintf(stderr, "measure: %s ended with %s %d\n", client_words[0],
        WIFEXITED(status) ? "status" : "signal", WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    return -1;
  }
  unsigned long lines;
  if (!counted || fscanf(counted, "%lu", &lines) != 1) die("the sink counted nothing");
  if ((has_begun || !word[0]) && fscanf(told, " %15s", word) != 1) die("the source told no time");
  if (strcmp(word, "seconds") != 0 || fscanf(told, "%lf", &wall) != 1) die("the source told no time");
  double spent_in_all = seconds(used.ru_utime) + seconds(used.ru_stime);
  printf("%.6f %.6f %ld %lu\n", wall, spent_in_all - before, used.ru_maxrss, lines);
  return 0;
}

int main(int count, char **words) {
  char **client_words = find_client(count, words);
  if (!client_words) {
    fprintf(stderr, "usage: measure SINK SOURCE WORD... -- CLIENT WORD...\n");
    return 2;
  }
  signal(SIGALRM, too_late);
  alarm(limit_seconds);
  int from_source[2], to_sink[2], from_sink[2];
  /* Close-on-exec, so that no process keeps another's pipe open. */
  if (pipe2(from_source, O_CLOEXEC) || pipe2(to_sink, O_CLOEXEC) || pipe2(from_sink, O_CLOEXEC)) die("no pipe");
  int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);

  source = start(words + 2, nothing, from_source[1]);
  close(from_source[1]);
  FILE *told = fdopen(from_source[0], "r");
  char port[16];
  if (!told || fscanf(told, "port %15s", port) != 1) die("the source told no port");
  if (!put_port(client_words, port)) die("no memory");

  char *sink_words[] = {words[1], NULL};
  sink = start(sink_words, to_sink[0], from_sink[1]);
  client = start(client_words, nothing, to_sink[1]);
  close(to_sink[0]);
  close(to_sink[1]);
  close(from_sink[1]);
  if (finish_row(client_words, from_source[0], told, fdopen(from_sink[0], "r")) < 0) {
    end_children();
    return 1;
  }
  kill(source, SIGTERM);
  waitpid(source, NULL, 0);
  waitpid(sink, NULL, 0);
  return 0;
}
