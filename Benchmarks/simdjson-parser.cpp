/* simdjson alone: parses messages in memory, each envelope and then its data, and prints none of
 * them.
 *
 *    simdjson-parser EVENTS <MESSAGES
 *
 * The input has one message a line, as `replay-server messages` prints its block. They are parsed
 * in turn until EVENTS are done. Prints "seconds cpu-seconds peak-KiB events" like `measure`: CPU
 * time from the first message on, and the number of messages whose data had a number. Nothing is
 * copied: the bytes that the parser may read beyond a text belong to the next text.
 */
#include <simdjson.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

namespace {

double spent(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return double(time.tv_sec) + double(time.tv_nsec) / 1e9;
}

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

/* Returns whether the message is an envelope with data, and the data JSON with a number. */
bool parse(simdjson::dom::parser &envelopes, simdjson::dom::parser &contents, std::string_view message) {
  simdjson::dom::element envelope, content;
  std::string_view event, channel, data;
  uint64_t number;
  if (envelopes.parse(message.data(), message.size(), false).get(envelope)) return false;
  if (envelope["event"].get(event) || envelope["channel"].get(channel) || envelope["data"].get(data)) return false;
  /* The parser's texts have enough room after them for parsing in place. */
  if (contents.parse(data.data(), data.size(), false).get(content)) return false;
  return !content["id"].get(number) && number > 0;
}

}  // namespace

int main(int count, char **words) {
  unsigned long events = count == 2 ? strtoul(words[1], nullptr, 10) : 0;
  std::string text(std::istreambuf_iterator<char>(std::cin), {});
  size_t size = text.size();
  text.append(simdjson::SIMDJSON_PADDING, ' ');
  auto messages = lines_of(std::string_view(text).substr(0, size));
  if (events == 0 || messages.empty()) {
    fprintf(stderr, "usage: simdjson-parser EVENTS <MESSAGES\n");
    return 2;
  }
  alarm(120);
  simdjson::dom::parser envelopes, contents;
  unsigned long parsed = 0;
  double start = spent(CLOCK_MONOTONIC), cpu_start = spent(CLOCK_PROCESS_CPUTIME_ID);
  for (unsigned long event = 0, at = 0; event < events; event++) {
    parsed += parse(envelopes, contents, messages[at]);
    if (++at == messages.size()) at = 0;
  }
  double seconds = spent(CLOCK_MONOTONIC) - start, cpu = spent(CLOCK_PROCESS_CPUTIME_ID) - cpu_start;
  rusage used;
  getrusage(RUSAGE_SELF, &used);
  printf("%.6f %.6f %ld %lu\n", seconds, cpu, used.ru_maxrss, parsed);
  return 0;
}
