// SPDX-License-Identifier: Apache-2.0
/// \file
/// Damages the pack of a compiled model while it runs, at every token: replaced by name, cut short, bits flipped in
/// every page. A failed call is repeated when the file is whole again; the text must be that of a run without damage.
/// usage: Faults MODEL.so COPY-OF-MODEL.moepack
#include "Common.h"

#include <cstdint>
#include <fcntl.h>
#include <filesystem>
#include <string>
#include <unistd.h>

namespace {

constexpr uint64_t kPage = 16384;
constexpr int kTokens = 5;
const std::vector<int32_t> kPrompt = {46, 1316, 584, 258, 579, 12, 700, 33};

/// The pack on disk.
struct Pack {
  std::string path, kept, other;

  explicit Pack(const char *name) : path(name), kept(path + ".kept"), other(path + ".other") {
    std::filesystem::copy_file(path, kept);
  }
  void flip(const std::string &file, uint64_t from) const {
    int fd = open(file.c_str(), O_RDWR);
    CHECK(fd >= 0);
    uint64_t bytes = std::filesystem::file_size(file);
    for (uint64_t at = from; at < bytes; at += kPage) {
      uint8_t byte = 0;
      CHECK(pread(fd, &byte, 1, static_cast<off_t>(at)) == 1);
      byte ^= 0x20;
      CHECK(pwrite(fd, &byte, 1, static_cast<off_t>(at)) == 1);
    }
    close(fd);
  }
  /// Writes the bytes back into the same file.
  void restore() const { std::filesystem::copy_file(kept, path, std::filesystem::copy_options::overwrite_existing); }
};

enum class Damage { Replaced, Cut, Flipped };

void inflict(const Pack &pack, Damage damage) {
  switch (damage) {
  case Damage::Replaced:
    std::filesystem::copy_file(pack.kept, pack.other, std::filesystem::copy_options::overwrite_existing);
    pack.flip(pack.other, kPage + 5);
    std::filesystem::rename(pack.other, pack.path);
    break;
  case Damage::Cut:
    CHECK(truncate(pack.path.c_str(), 2 * kPage) == 0);
    break;
  case Damage::Flipped:
    pack.flip(pack.path, 2 * kPage + 7);
    break;
  }
}

struct Run {
  const moert_api *api;
  const Pack &pack;
  Damage damage;
  int at; /// the call before which the damage is done; -1 = never
  int numCalls = 0, numFailed = 0;

  template <typename Call> void attempt(Call call) {
    moert_error error = {};
    if (numCalls++ == at)
      inflict(pack, damage);
    if (call(&error) == MOERT_STATUS_OK)
      return;
    ++numFailed;
    if (damage == Damage::Replaced || error.status != MOERT_STATUS_CORRUPT || !std::strstr(error.message, "moepack'"))
      std::fprintf(stderr, "%s\n", error.message);
    CHECK(at >= 0 && damage != Damage::Replaced && error.status == MOERT_STATUS_CORRUPT);
    CHECK(std::strstr(error.message, pack.path.c_str()));
    pack.restore();
    CHECK(call(&error) == MOERT_STATUS_OK);
  }
  /// Logits of every token.
  std::vector<float> run(const moert_open_options &options, uint32_t vocabulary);
};

std::vector<float> Run::run(const moert_open_options &options, uint32_t vocabulary) {
  Opened opened(api, options);
  std::vector<float> rows;
  size_t fed = 0;
  attempt([&](moert_error *error) {
    fed = api->session_length(opened.session);
    return api->prefill(opened.session, kPrompt.data() + fed, kPrompt.size() - fed, 0, nullptr, nullptr, error);
  });
  for (int i = 0; i < kTokens; ++i) {
    moert_sampler_options greedy = {};
    int32_t id = -1;
    CHECK(api->sample(opened.session, &greedy, &id, nullptr) == MOERT_STATUS_OK);
    attempt([&](moert_error *error) { return api->decode(opened.session, id, error); });
    const float *row = api->logits(opened.session);
    CHECK(row);
    rows.insert(rows.end(), row, row + vocabulary);
  }
  CHECK(api->session_length(opened.session) == kPrompt.size() + kTokens);
  return rows;
}

} // namespace

int main(int argc, char **argv) {
  CHECK(argc == 3);
  const moert_api *api = load(argv[1]);
  Pack pack(argv[2]);
  moert_open_options options = optionsFor(argv[2]);
  moert_plan_info plan = {};
  CHECK(api->plan(&options, &plan, nullptr) == MOERT_STATUS_OK);
  options.budget_bytes = plan.min_bytes + plan.slot_bytes;
  uint32_t vocabulary = 0;
  {
    Opened opened(api, options);
    moert_model_info info = {};
    CHECK(api->model_info(opened.model, &info, nullptr) == MOERT_STATUS_OK);
    vocabulary = info.vocab_size;
  }
  Run clean = {api, pack, Damage::Cut, -1};
  std::vector<float> expected = clean.run(options, vocabulary);
  int numFailed[3] = {};
  for (Damage damage : {Damage::Replaced, Damage::Cut, Damage::Flipped})
    for (bool isBuffered : {false, true})
      for (int at = 0; at <= kTokens; ++at) {
        options.buffered_reads = isBuffered;
        Run run = {api, pack, damage, at};
        std::vector<float> found = run.run(options, vocabulary);
        CHECK(found.size() == expected.size());
        CHECK(std::memcmp(found.data(), expected.data(), expected.size() * sizeof(float)) == 0);
        numFailed[static_cast<int>(damage)] += run.numFailed;
        pack.restore();
      }
  std::printf("failed calls: replaced %d, cut %d, flipped %d\n", numFailed[0], numFailed[1], numFailed[2]);
  return 0;
}
