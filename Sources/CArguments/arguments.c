#include "arguments.h"

// Any header of the C library says which library it is.
#include <stdlib.h>

static int count = 0;
static char **words = NULL;

// glibc calls constructors with what main gets; musl does not, and Darwin's Swift asks the system.
#ifdef __GLIBC__
__attribute__((constructor)) static void keep(int argc, char **argv) {
  count = argc;
  words = argv;
}
#endif

int pusher_argument_count(void) { return count; }

const char *pusher_argument(int index) {
  return index >= 0 && index < count ? words[index] : NULL;
}
