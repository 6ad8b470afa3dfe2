// SPDX-License-Identifier: Apache-2.0
/// \file
/// Bytes and time of a decoded token. Main source: include/moert/TokenCost.h.
#include "moert/TokenCost.h"

#include "runtime/base/Checked.h"
#include "runtime/plan/Plan.h"

namespace moert {

/// More experts of a layer than this are taken to miss by the mean number: their spread does not matter any more, and
/// powers stay in the range of a double.
constexpr uint32_t kMostSpread = 256;

namespace {
/// Times of parts of one layer, in seconds.
struct LayerTimes {
  double dense, expert, record, verified, predictedRate;

  /// What a layer takes besides its dense part if `missed` of `used` experts miss.
  double experts(double used, double missed) const {
    double reads = missed * record;
    double lead = predictedRate * reads;
    double exposed = reads - (lead < dense ? lead : dense);
    double late = record > 0 ? exposed / record : 0;
    double there = (used - late) * expert;
    return (there > exposed ? there : exposed) + (late < 1 ? late : 1) * (verified + expert);
  }

  /// The mean over the number of misses, each use missing with `missRate`.
  double meanOfExperts(uint32_t used, double missRate) const {
    if (used > kMostSpread || missRate <= 0 || missRate >= 1)
      return experts(used, used * missRate);
    // Terms of the binomial distribution from the side where the first is at least 2^-256.
    bool isRare = missRate <= 0.5;
    double rate = isRare ? missRate : 1 - missRate, chance = 1, sum = 0;
    for (uint32_t i = 0; i < used; ++i)
      chance *= 1 - rate;
    for (uint32_t count = 0; count <= used; ++count) {
      sum += chance * experts(used, isRare ? count : used - count);
      chance *= (used - count) * rate / ((count + 1) * (1 - rate));
    }
    return sum;
  }
};
} // namespace

void estimateToken(const moert_model_descriptor &d, const Settings &settings, moert_plan_info &info) {
  uint64_t visible = static_cast<uint64_t>(settings.window.window) + static_cast<uint64_t>(settings.window.sinks);
  moert_token_traffic traffic = {};
  moert_token_cost cost = {};
  moert_describe_token(&d, &info, settings.expertsUsed, minOf(settings.context / 2, visible), &traffic);
  moert_cost_token(&traffic, &cost);
  info.hit_rate = traffic.hit_rate;
  info.token_memory_bytes = cost.memory_bytes;
  info.token_flash_bytes = cost.flash_bytes;
  info.tokens_per_second = cost.tokens_per_second;
}

} // namespace moert

extern "C" void moert_describe_token(const moert_model_descriptor *descriptor, const moert_plan_info *plan,
                                     uint32_t experts_used, uint64_t depth, moert_token_traffic *traffic) {
  constexpr uint64_t kRowChecksumBytes = 8;
  const moert_model_descriptor &d = *descriptor;
  moert_token_traffic &t = *traffic;
  t = {};
  t.resident_bytes = d.token_resident_bytes;
  for (uint32_t i = 0; i < d.num_streamed_tables; ++i)
    t.row_bytes += d.streamed_tables[i].row_bytes + kRowChecksumBytes;
  t.kv_bytes = depth * (d.plan.kv_block_bytes / MOERT_KV_BLOCK_POSITIONS);
  t.state_bytes = d.plan.state_bytes;
  t.expert_bytes = d.expert_bytes;
  t.record_bytes = plan->slot_bytes;
  t.num_layers = d.num_experts ? static_cast<uint32_t>(plan->num_experts / d.num_experts) : 0;
  t.experts_used = plan->num_experts ? experts_used : 0;
  t.hit_rate = plan->num_experts ? static_cast<double>(plan->num_slots) / static_cast<double>(plan->num_experts) : 1;
  t.memory_bytes_per_second = d.memory_bytes_per_second;
  t.flash_bytes_per_second = d.flash_bytes_per_second;
}

extern "C" void moert_cost_token(const moert_token_traffic *traffic, moert_token_cost *cost) {
  using namespace moert;
  const moert_token_traffic &t = *traffic;
  *cost = {};
  double uses = static_cast<double>(t.num_layers) * t.experts_used, missRate = 1 - t.hit_rate;
  double expertBytes = static_cast<double>(t.expert_bytes), recordBytes = static_cast<double>(t.record_bytes);
  cost->misses = uses * missRate;
  double flashBytes = cost->misses * recordBytes + static_cast<double>(t.row_bytes);
  double stateBytes = 2 * static_cast<double>(t.state_bytes);
  double denseBytes = static_cast<double>(t.resident_bytes) + static_cast<double>(t.row_bytes);
  cost->flash_bytes = static_cast<uint64_t>(flashBytes + 0.5);
  cost->memory_bytes = static_cast<uint64_t>(denseBytes + static_cast<double>(t.kv_bytes) + stateBytes +
                                             uses * expertBytes + cost->misses * recordBytes + 0.5);
  bool readsFlash = cost->misses > 0;
  if (t.memory_bytes_per_second == 0 || (readsFlash && !t.flash_bytes_per_second))
    return;
  double percent = static_cast<double>(t.memory_bytes_per_second) / 100;
  double dense = denseBytes / (percent * MOERT_WEIGHTS_PERCENT) +
                 static_cast<double>(t.kv_bytes) / (percent * MOERT_KV_PERCENT) +
                 stateBytes / (percent * MOERT_STATE_PERCENT);
  LayerTimes times = {};
  times.dense = t.num_layers ? dense / t.num_layers : 0;
  times.expert = expertBytes / (percent * MOERT_WEIGHTS_PERCENT);
  double read = readsFlash ? recordBytes / static_cast<double>(t.flash_bytes_per_second) : 0;
  times.verified = readsFlash ? recordBytes / MOERT_VERIFIED_BYTES_PER_SECOND : 0;
  times.record = read + times.verified / MOERT_DEFAULT_READER_LANES;
  times.predictedRate = t.predicted_rate;
  double seconds = dense + t.num_layers * times.meanOfExperts(t.experts_used, missRate);
  if (!(seconds > 0))
    return;
  cost->seconds_of_computing = dense + uses * times.expert;
  cost->seconds_of_flash = cost->misses * read;
  cost->tokens_per_second = 1 / seconds;
}
