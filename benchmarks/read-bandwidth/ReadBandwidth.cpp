// SPDX-License-Identifier: Apache-2.0
/// \file
/// Measures how fast N threads read memory that no cache holds: the best of plain loops, loops with software prefetch
/// at several distances, and both again over huge pages. Main source: docs/benchmarks.md.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <vector>

namespace {

constexpr size_t kHugePage = size_t(2) << 20;
constexpr size_t kDistances[] = {0, 1024, 2048, 4096, 8192};

/// Sums all bytes in 8 vectors of 64 bytes. The sum keeps the loads alive.
template <size_t distance> uint64_t readAll(const uint8_t *bytes, size_t size) {
  using Vector = uint64_t __attribute__((vector_size(64)));
  Vector sums[8] = {};
  for (size_t at = 0; at + 512 <= size; at += 512)
    for (size_t i = 0; i < 8; ++i) {
      if (distance)
        __builtin_prefetch(bytes + at + i * 64 + distance);
      sums[i] += *reinterpret_cast<const Vector *>(bytes + at + i * 64);
    }
  for (size_t i = 1; i < 8; ++i)
    sums[0] += sums[i];
  return sums[0][0] + sums[0][7];
}

uint64_t readAt(size_t distance, const uint8_t *bytes, size_t size) {
  switch (distance) {
  case 1024:
    return readAll<1024>(bytes, size);
  case 2048:
    return readAll<2048>(bytes, size);
  case 4096:
    return readAll<4096>(bytes, size);
  case 8192:
    return readAll<8192>(bytes, size);
  default:
    return readAll<0>(bytes, size);
  }
}

/// Anonymous memory of one page size, written once so that every page is there.
class Buffer {
public:
  Buffer(size_t size, bool isHuge) : size(size), mapped(size + kHugePage) {
    void *at = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) {
      std::fprintf(stderr, "error: cannot map %zu bytes; lower --bytes\n", mapped);
      std::exit(1);
    }
    base = static_cast<uint8_t *>(at);
    start = base + (kHugePage - reinterpret_cast<uintptr_t>(base) % kHugePage) % kHugePage;
    // A kernel without huge pages refuses; then both buffers are alike.
    madvise(base, mapped, isHuge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    std::memset(start, 1, size);
  }
  Buffer(const Buffer &) = delete;
  ~Buffer() { munmap(base, mapped); }

  /// Bytes per second of one pass by `threads` threads, each over a part of its own.
  double rate(size_t threads, size_t distance) const {
    std::vector<uint64_t> sums(threads);
    size_t part = size / threads / 512 * 512;
    auto begin = std::chrono::steady_clock::now();
    std::vector<std::thread> others;
    auto work = [&](size_t thread) { sums[thread] = readAt(distance, start + thread * part, part); };
    for (size_t thread = 1; thread < threads; ++thread)
      others.emplace_back(work, thread);
    work(0);
    for (std::thread &other : others)
      other.join();
    double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    static volatile uint64_t sink;
    for (uint64_t sum : sums)
      sink = sink + sum;
    return static_cast<double>(part * threads) / seconds;
  }

private:
  size_t size, mapped;
  uint8_t *base = nullptr, *start = nullptr;
};

struct Loop {
  size_t threads = 1, distance = 0;
  bool isHuge = false;
  double rate = 0; ///< median, bytes per second
};

void print(const Loop &loop) {
  std::printf("{\"threads\": %zu, \"pages\": \"%s\", \"prefetch_bytes\": %zu, \"bytes_per_s\": %.0f}\n", loop.threads,
              loop.isHuge ? "huge" : "small", loop.distance, loop.rate);
  std::fflush(stdout);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Options {
  std::vector<size_t> threads = {1, std::max<size_t>(1, std::thread::hardware_concurrency())};
  size_t bytes = size_t(4) << 30, repetitions = 7;
  bool serves = false;
};

bool parseNumbers(const char *text, std::vector<size_t> &numbers) {
  numbers.clear();
  for (char *end = nullptr;; text = end + 1) {
    if (*text < '0' || *text > '9')
      return false;
    numbers.push_back(std::strtoull(text, &end, 10));
    if (numbers.back() == 0 || (*end != ',' && *end != '\0'))
      return false;
    if (*end == '\0')
      return true;
  }
}

bool parse(int argc, char **argv, Options &options) {
  for (int i = 1; i < argc; ++i) {
    std::string flag = argv[i];
    std::vector<size_t> numbers;
    if (flag == "--serve") {
      options.serves = true;
      continue;
    }
    if (++i == argc || !parseNumbers(argv[i], numbers))
      return false;
    if (flag == "--threads")
      options.threads = numbers;
    else if (flag == "--bytes" && numbers.size() == 1)
      options.bytes = numbers[0];
    else if (flag == "--repetitions" && numbers.size() == 1)
      options.repetitions = numbers[0];
    else
      return false;
  }
  for (size_t threads : options.threads)
    if (threads > 256 || options.bytes / threads < 512)
      return false;
  return options.bytes <= SIZE_MAX - kHugePage;
}

/// All loops, with one buffer at a time. Prints each unless the program serves; answers the best of each thread count.
std::vector<Loop> measureAll(const Options &options) {
  std::vector<Loop> best(options.threads.size());
  for (bool isHuge : {false, true}) {
    Buffer buffer(options.bytes, isHuge);
    for (size_t i = 0; i < options.threads.size(); ++i)
      for (size_t distance : kDistances) {
        std::vector<double> rates;
        for (size_t j = 0; j < options.repetitions; ++j)
          rates.push_back(buffer.rate(options.threads[i], distance));
        Loop loop{options.threads[i], distance, isHuge, median(rates)};
        if (!options.serves)
          print(loop);
        if (loop.rate > best[i].rate)
          best[i] = loop;
      }
  }
  return best;
}

/// Prints the best loop of each thread count, then runs it once for every line of stdin that names its threads.
int serve(const Options &options) {
  std::vector<Loop> best = measureAll(options);
  bool needs[2] = {};
  for (const Loop &loop : best) {
    print(loop);
    needs[loop.isHuge] = true;
  }
  Buffer small(needs[0] ? options.bytes : 512, false), huge(needs[1] ? options.bytes : 512, true);
  unsigned long long threads = 0;
  while (std::scanf("%llu", &threads) == 1) {
    auto loop = std::find_if(best.begin(), best.end(), [&](const Loop &l) { return l.threads == threads; });
    if (loop == best.end()) {
      std::fprintf(stderr, "error: %llu threads are not among --threads\n", threads);
      return 1;
    }
    loop->rate = (loop->isHuge ? huge : small).rate(loop->threads, loop->distance);
    print(*loop);
  }
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  if (!parse(argc, argv, options)) {
    std::fputs(
        "usage: read-bandwidth [--threads 1,2] [--bytes 4294967296] [--repetitions 7] [--serve]\n"
        "Prints one JSON object a loop. --serve: the best loop of each thread count, then one more pass for each\n"
        "line of stdin that holds a number of threads.\n",
        stderr);
    return 2;
  }
  if (options.serves)
    return serve(options);
  measureAll(options);
  return 0;
}
