// The files of the console's page, Sources/PusherConsole/Page.
#ifndef PUSHER_CCONSOLEPAGE_H
#define PUSHER_CCONSOLEPAGE_H

// Returns the file's UTF-8 and a NUL; NULL for an unknown name.
const unsigned char *pusher_page_file(const char *name);

#endif
