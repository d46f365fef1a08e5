/* The reader at the end of the pipe: reads 256 KiB at a time and prints the number of lines.
 *
 * SINK_BYTE=N counts another byte than the line feed, such as 129, which begins the frames of a
 * copy. SINK_NUMBER=1 prints the number at the start of the input, which is a reader's own count.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { room = 256 * 1024 };

int main(void) {
  static char bytes[room + 1];
  const char *byte = getenv("SINK_BYTE");
  const char mark = (char)(byte ? atoi(byte) : '\n');
  unsigned long marks = 0, number = 0, is_first = 1;
  ssize_t count;
  while ((count = read(0, bytes, room)) > 0) {
    if (is_first) number = strtoul(bytes, NULL, 10);
    is_first = 0;
    for (ssize_t index = 0; index < count; index++) marks += bytes[index] == mark;
  }
  printf("%lu\n", getenv("SINK_NUMBER") ? number : marks);
  return 0;
}
