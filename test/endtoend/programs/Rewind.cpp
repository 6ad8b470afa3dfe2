// SPDX-License-Identifier: Apache-2.0
/// \file
/// Goes back in a session of a compiled model and compares every bit of the logits with a fresh session.
/// usage: Rewind MODEL.so MODEL.moepack WINDOW CHECKPOINTS
#include "Common.h"

#include <algorithm>

namespace {

using Ids = std::vector<int32_t>;
using Row = std::vector<float>;

struct Session {
  Session(const moert_api *api, const moert_open_options &options) : opened(api, options), api(api) {
    moert_model_info info = {};
    CHECK(api->model_info(opened.model, &info, nullptr) == MOERT_STATUS_OK);
    vocabulary = info.vocab_size;
  }
  int32_t sample() {
    moert_sampler_options greedy = {};
    int32_t id = -1;
    moert_error error = {};
    if (api->sample(opened.session, &greedy, &id, &error) != MOERT_STATUS_OK)
      std::fprintf(stderr, "%s\n", error.message);
    CHECK(id >= 0);
    return id;
  }
  /// Greedy tokens, all of which are fed.
  Ids decode(int count) {
    Ids ids;
    for (; count; --count) {
      ids.push_back(sample());
      CHECK(api->decode(opened.session, ids.back(), nullptr) == MOERT_STATUS_OK);
    }
    return ids;
  }
  void prefill(const Ids &ids, uint32_t chunk = 0) {
    CHECK(api->prefill(opened.session, ids.data(), ids.size(), chunk, nullptr, nullptr, nullptr) == MOERT_STATUS_OK);
  }
  void rewind(uint64_t position) { CHECK(api->session_rewind(opened.session, position, nullptr) == MOERT_STATUS_OK); }
  Row logits() {
    sample(); // computes them if they are missing
    const float *row = api->logits(opened.session);
    return Row(row, row + vocabulary);
  }
  Row fresh(const Ids &ids) {
    CHECK(api->session_reset(opened.session, nullptr) == MOERT_STATUS_OK);
    prefill(ids);
    return logits();
  }
  Opened opened;
  const moert_api *api;
  uint32_t vocabulary = 0;
};

Ids join(Ids first, const Ids &second, size_t count = SIZE_MAX) {
  first.insert(first.end(), second.begin(), second.begin() + static_cast<ptrdiff_t>(std::min(count, second.size())));
  return first;
}

} // namespace

int main(int argc, char **argv) {
  CHECK(argc == 5);
  const moert_api *api = load(argv[1]);
  moert_open_options options = optionsFor(argv[2]);
  options.window = static_cast<uint32_t>(std::atoi(argv[3]));
  int checkpoints = std::atoi(argv[4]);
  options.state_checkpoints = checkpoints ? static_cast<uint32_t>(checkpoints) : UINT32_MAX;
  Session session(api, options), reference(api, options);
  Ids prompt;
  for (int32_t i = 0; i < 70; ++i)
    prompt.push_back(i * 37 % static_cast<int32_t>(session.vocabulary));
  // Generate 100, go back 50, go on: as if nothing had been.
  session.prefill(prompt);
  Ids first = session.decode(100);
  session.rewind(prompt.size() + 50);
  CHECK(session.decode(50) == Ids(first.begin() + 50, first.end()));
  CHECK(session.logits() == reference.fresh(join(prompt, first)));
  // Another question in place of the last 90 tokens.
  const Ids other = {9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  Ids held = join(join(prompt, first, 10), other);
  session.rewind(prompt.size() + 10);
  session.prefill(other, 3);
  CHECK(session.logits() == reference.fresh(held));
  held = join(held, session.decode(7));
  CHECK(session.logits() == reference.fresh(held));
  // The same reply again, without the question being computed again.
  session.rewind(held.size() - 7);
  CHECK(join(Ids(held.begin(), held.end() - 7), session.decode(7)) == held);
  // Back to positions of every kind.
  for (size_t position : {size_t(90), size_t(70), size_t(64), size_t(63), size_t(1)}) {
    session.rewind(position);
    held.resize(position);
    CHECK(session.logits() == reference.fresh(held));
  }
  session.rewind(0);
  session.prefill(prompt, 16);
  CHECK(session.logits() == reference.fresh(prompt));
  std::puts("right");
  return 0;
}
