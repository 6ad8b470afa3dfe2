// SPDX-License-Identifier: Apache-2.0
/// \file
/// Two compiled models and one of them twice in one process: interleaved and from two threads they give the tokens that
/// each gives alone. usage: TwoModels A.so A.moepack B.so B.moepack
#include "Common.h"

#include <thread>

namespace {

const std::vector<int32_t> kPrompt = {46, 1316, 584, 258, 579, 17, 99, 1000, 5};
constexpr int kCount = 24;

struct Partner {
  Opened *model;
  int32_t id;
  std::vector<int32_t> ids;
};

/// One token of the partner between two tokens of the other.
void stepPartner(void *user) {
  Partner &partner = *static_cast<Partner *>(user);
  moert_sampler_options greedy = {};
  greedy.top_p = 1;
  const moert_api *api = partner.model->api;
  CHECK(api->sample(partner.model->session, &greedy, &partner.id, nullptr) == MOERT_STATUS_OK);
  CHECK(api->decode(partner.model->session, partner.id, nullptr) == MOERT_STATUS_OK);
  partner.ids.push_back(partner.id);
}

void runTogether(Opened &first, Opened &second, const std::vector<int32_t> &firstAlone,
                 const std::vector<int32_t> &secondAlone) {
  Partner partner = {&second, 0, {}};
  CHECK(second.api->session_reset(second.session, nullptr) == MOERT_STATUS_OK);
  CHECK(second.api->prefill(second.session, kPrompt.data(), kPrompt.size(), 0, nullptr, nullptr, nullptr) ==
        MOERT_STATUS_OK);
  CHECK(first.continueGreedily(kPrompt, kCount, stepPartner, &partner) == firstAlone);
  CHECK(partner.ids == secondAlone);
  for (int round = 0; round < 3; ++round) {
    std::vector<int32_t> fromThread;
    std::thread other([&] { fromThread = second.continueGreedily(kPrompt, kCount); });
    std::vector<int32_t> here = first.continueGreedily(kPrompt, kCount);
    other.join();
    CHECK(here == firstAlone);
    CHECK(fromThread == secondAlone);
  }
}

/// The smallest budget, so that experts move while the other model runs.
moert_open_options minimal(const moert_api *api, const char *pack) {
  moert_open_options options = optionsFor(pack);
  moert_plan_info info = {};
  CHECK(api->plan(&options, &info, nullptr) == MOERT_STATUS_OK);
  options.budget_bytes = info.min_bytes;
  return options;
}

} // namespace

int main(int argc, char **argv) {
  CHECK(argc == 5);
  const moert_api *a = load(argv[1]), *b = load(argv[3]);
  CHECK(a != b);
  std::vector<int32_t> alone[2];
  {
    Opened model(a, optionsFor(argv[2]));
    alone[0] = model.continueGreedily(kPrompt, kCount);
  }
  {
    Opened model(b, optionsFor(argv[4]));
    alone[1] = model.continueGreedily(kPrompt, kCount);
  }
  CHECK(alone[0] != alone[1]);
  Opened first(a, minimal(a, argv[2])), second(b, minimal(b, argv[4])), twin(a, optionsFor(argv[2]));
  runTogether(first, second, alone[0], alone[1]);
  runTogether(first, twin, alone[0], alone[0]);
  std::puts("right");
  return 0;
}
