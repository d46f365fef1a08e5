/* simdjson alone: copies messages in memory without blanks (`minify`), checks their UTF-8
 * (`validate_utf8`), and prints none of them.
 *
 *    simdjson-minify EVENTS <MESSAGES
 *
 * The input has one message a line, as `replay-server messages` prints its block. They are read in
 * turn until EVENTS are done. Prints the number of messages that were copied and are UTF-8.
 * `minify` reads every byte, tells strings from the text between them, and writes a copy. It parses
 * no number and checks no grammar.
 */
#include <simdjson.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

namespace {

constexpr unsigned limit_seconds = 120;

/* Returns the lines of the text. */
std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  for (size_t at = 0; at < text.size();) {
    size_t end = text.find('\n', at);
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

/* Returns whether the message was copied completely and is UTF-8. The messages have no blanks
 * outside strings, so that the copy is as long as the message. */
bool copy(std::string_view message, std::vector<char> &room) {
  size_t size = 0;
  if (simdjson::minify(message.data(), message.size(), room.data(), size)) return false;
  return size == message.size() && simdjson::validate_utf8(message.data(), message.size());
}

}  // namespace

int main(int count, char **words) {
  unsigned long events = count == 2 ? strtoul(words[1], nullptr, 10) : 0;
  std::string text(std::istreambuf_iterator<char>(std::cin), {});
  auto messages = lines_of(text);
  if (events == 0 || messages.empty()) {
    fprintf(stderr, "usage: simdjson-minify EVENTS <MESSAGES\n");
    return 2;
  }
  alarm(limit_seconds);
  std::vector<char> room(text.size() + simdjson::SIMDJSON_PADDING);
  unsigned long copied = 0;
  for (unsigned long event = 0, at = 0; event < events; event++) {
    copied += copy(messages[at], room);
    if (++at == messages.size()) at = 0;
  }
  printf("%lu\n", copied);
  return 0;
}
