#include "arguments.h"

// Defines __GLIBC__ where the C library is glibc.
#include <stdlib.h>

static int count = 0;
static char **words = NULL;

// glibc passes main's arguments to constructors. musl does not, and on Darwin Swift asks the
// system.
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
