#ifndef CHILD_H
#define CHILD_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

/* Starts a program with this standard input and output; returns -1 if no process can be created. */
static inline pid_t start_child(char **words, int input, int output) {
  pid_t child = fork();
  if (child != 0) return child;
  dup2(input, 0);
  dup2(output, 1);
  execvp(words[0], words);
  fprintf(stderr, "benchmark: cannot run %s: %s\n", words[0], strerror(errno));
  _exit(127);
}

/* Replaces PORT in a program's words; returns 0 without memory. */
static inline int put_port(char **words, const char *port) {
  for (char **word = words; *word; word++) {
    char *place = strstr(*word, "PORT");
    if (place && asprintf(word, "%.*s%s%s", (int)(place - *word), *word, port, place + strlen("PORT")) < 0) return 0;
  }
  return 1;
}

#endif
