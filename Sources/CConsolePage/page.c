#include "page.h"

#include <string.h>

// Swift's compiler takes half a minute for literals of these files, and #embed no time. The package
// manager cannot ask for C23, so each #embed would be warned of.
#pragma clang diagnostic ignored "-Wc23-extensions"
static const struct {
  const char *name;
  const unsigned char *text;
} files[] = {
    {"address.js", (const unsigned char[]){
#embed "../PusherConsole/Page/address.js" suffix(, 0)
    }},
    {"calls.js", (const unsigned char[]){
#embed "../PusherConsole/Page/calls.js" suffix(, 0)
    }},
    {"channels.js", (const unsigned char[]){
#embed "../PusherConsole/Page/channels.js" suffix(, 0)
    }},
    {"chart.js", (const unsigned char[]){
#embed "../PusherConsole/Page/chart.js" suffix(, 0)
    }},
    {"connect.js", (const unsigned char[]){
#embed "../PusherConsole/Page/connect.js" suffix(, 0)
    }},
    {"connections.js", (const unsigned char[]){
#embed "../PusherConsole/Page/connections.js" suffix(, 0)
    }},
    {"console.css", (const unsigned char[]){
#embed "../PusherConsole/Page/console.css" suffix(, 0)
    }},
    {"console.html", (const unsigned char[]){
#embed "../PusherConsole/Page/console.html" suffix(, 0)
    }},
    {"console.js", (const unsigned char[]){
#embed "../PusherConsole/Page/console.js" suffix(, 0)
    }},
    {"copy.js", (const unsigned char[]){
#embed "../PusherConsole/Page/copy.js" suffix(, 0)
    }},
    {"detail.js", (const unsigned char[]){
#embed "../PusherConsole/Page/detail.js" suffix(, 0)
    }},
    {"empty.js", (const unsigned char[]){
#embed "../PusherConsole/Page/empty.js" suffix(, 0)
    }},
    {"entries.js", (const unsigned char[]){
#embed "../PusherConsole/Page/entries.js" suffix(, 0)
    }},
    {"fault-words.js", (const unsigned char[]){
#embed "../PusherConsole/Page/fault-words.js" suffix(, 0)
    }},
    {"faults.js", (const unsigned char[]){
#embed "../PusherConsole/Page/faults.js" suffix(, 0)
    }},
    {"filter-bar.js", (const unsigned char[]){
#embed "../PusherConsole/Page/filter-bar.js" suffix(, 0)
    }},
    {"filters.js", (const unsigned char[]){
#embed "../PusherConsole/Page/filters.js" suffix(, 0)
    }},
    {"folds.js", (const unsigned char[]){
#embed "../PusherConsole/Page/folds.js" suffix(, 0)
    }},
    {"globs.js", (const unsigned char[]){
#embed "../PusherConsole/Page/globs.js" suffix(, 0)
    }},
    {"json-text.js", (const unsigned char[]){
#embed "../PusherConsole/Page/json-text.js" suffix(, 0)
    }},
    {"json-view.js", (const unsigned char[]){
#embed "../PusherConsole/Page/json-view.js" suffix(, 0)
    }},
    {"keyboard.js", (const unsigned char[]){
#embed "../PusherConsole/Page/keyboard.js" suffix(, 0)
    }},
    {"list.js", (const unsigned char[]){
#embed "../PusherConsole/Page/list.js" suffix(, 0)
    }},
    {"rates.js", (const unsigned char[]){
#embed "../PusherConsole/Page/rates.js" suffix(, 0)
    }},
    {"replay.js", (const unsigned char[]){
#embed "../PusherConsole/Page/replay.js" suffix(, 0)
    }},
    {"rows.js", (const unsigned char[]){
#embed "../PusherConsole/Page/rows.js" suffix(, 0)
    }},
    {"send.js", (const unsigned char[]){
#embed "../PusherConsole/Page/send.js" suffix(, 0)
    }},
    {"sent.js", (const unsigned char[]){
#embed "../PusherConsole/Page/sent.js" suffix(, 0)
    }},
    {"signing.js", (const unsigned char[]){
#embed "../PusherConsole/Page/signing.js" suffix(, 0)
    }},
    {"stream.js", (const unsigned char[]){
#embed "../PusherConsole/Page/stream.js" suffix(, 0)
    }},
    {"tables.js", (const unsigned char[]){
#embed "../PusherConsole/Page/tables.js" suffix(, 0)
    }},
    {"text.js", (const unsigned char[]){
#embed "../PusherConsole/Page/text.js" suffix(, 0)
    }},
    {"webhooks.js", (const unsigned char[]){
#embed "../PusherConsole/Page/webhooks.js" suffix(, 0)
    }},
};

const unsigned char *pusher_page_file(const char *name) {
  for (size_t index = 0; index < sizeof files / sizeof *files; index++)
    if (strcmp(files[index].name, name) == 0) return files[index].text;
  return NULL;
}
