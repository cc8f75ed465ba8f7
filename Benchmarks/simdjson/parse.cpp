// What simdjson's parse alone of the frames of a file costs, one a line: the median of 15 rounds, or of as many as are said, in nanoseconds of
// processor time a frame.
#include <simdjson.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>
#include <vector>

static long long clock_now() {
    timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

int main(int count, char **arguments) {
    if (count < 2 || count > 3) return 2;
    const int rounds = count == 3 ? std::atoi(arguments[2]) : 15;
    std::ifstream file(arguments[1]);
    std::vector<simdjson::padded_string> frames;
    for (std::string line; std::getline(file, line);) frames.emplace_back(line);
    if (frames.empty()) return 2;
    simdjson::dom::parser parser;
    std::vector<long long> times;
    for (int round = 0; round <= rounds; round++) {
        long long begin = clock_now();
        for (const auto &frame : frames) {
            if (parser.parse(frame).error()) return 1;
        }
        if (round > 0) times.push_back(clock_now() - begin);
    }
    std::sort(times.begin(), times.end());
    std::printf("%lld\n", times[times.size() / 2] / static_cast<long long>(frames.size()));
}
