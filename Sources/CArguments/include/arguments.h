// The words that this process was started with, as the C library passes them to constructors.
//
// Swift's CommandLine reads /proc/self/cmdline on Linux, and finds no words if /proc is not
// mounted.
#ifndef PUSHER_CARGUMENTS_H
#define PUSHER_CARGUMENTS_H

// Returns the number of words, with the program's own name; 0 if the C library passes none to
// constructors.
int pusher_argument_count(void);

// Returns the word at an index below the count; NULL for any other index.
const char *pusher_argument(int index);

#endif
