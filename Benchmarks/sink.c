/* The reader at the end of the pipe: takes 256 KiB at a time and prints how many lines came. */
#include <stdio.h>
#include <unistd.h>

enum { room = 256 * 1024 };

int main(void) {
  static char bytes[room];
  unsigned long lines = 0;
  ssize_t count;
  while ((count = read(0, bytes, room)) > 0)
    for (ssize_t index = 0; index < count; index++) lines += bytes[index] == '\n';
  printf("%lu\n", lines);
  return 0;
}
