// SPDX-License-Identifier: Apache-2.0
/// \file
/// How fast the pack can be read: from end to end, as before the first token, and in requests of an expert.
#include "tools/moe-run/doctor/Checks.h"
#include "tools/moe-run/doctor/ReadSpeed.h"

namespace moerun {

/// Enough to leave a drive's cache behind, little enough to be done in seconds.
static constexpr uint64_t kMostBytes = 128u << 20;
static constexpr uint64_t kSmallestRequest = 16384, kSequentialRequest = 1u << 20;

/// Injected: /moec/read_mbps below the root stands for both.
static ReadSpeed measure(const Patient &patient, uint64_t requestBytes, bool random) {
  if (patient.machine.isInjected()) {
    int64_t rate = 0;
    ReadSpeed speed = {};
    speed.isKnown = patient.machine.readNumber(&rate, "/moec/read_mbps") && rate > 0;
    speed.isDirect = true;
    speed.rateMBps = static_cast<double>(rate);
    speed.requestBytes = requestBytes;
    speed.requestMs = speed.isKnown ? static_cast<double>(requestBytes) / (speed.rateMBps * 1e3) : 0;
    return speed;
  }
  const FileRange range = {patient.packStart, patient.firstPartBytes};
  return measureReads(patient.packPath.data(), range, requestBytes,
                      patient.firstPartBytes < kMostBytes ? patient.firstPartBytes : kMostBytes, random);
}

static uint64_t requestThatFits(const Patient &patient, uint64_t wanted) {
  return wanted && wanted <= patient.firstPartBytes ? wanted : kSmallestRequest;
}

static const char *sourceOf(const Patient &patient, const ReadSpeed &speed) {
  return patient.machine.isInjected() ? "injected"
         : patient.isOnFuse           ? "measured, one reader, through FUSE and its cache: an upper bound"
         : speed.isDirect             ? "measured, one reader"
                                      : "measured, one reader, through the page cache: an upper bound";
}

void checkSequentialReads(Patient &patient) {
  ReadSpeed speed = measure(patient, requestThatFits(patient, kSequentialRequest), false);
  if (!speed.isKnown) {
    patient.findings.addUnknown("flash_sequential", "the pack cannot be read");
    return;
  }
  patient.findings
      .add("flash_sequential", State::Ok, "%.0f MB/s (%s, %.1f MiB)", speed.rateMBps, sourceOf(patient, speed),
           mebibytes(speed.bytes))
      .need("%.1f MiB are read before the first token: %.2f s (estimated)", mebibytes(patient.plan.resident_bytes),
            static_cast<double>(patient.plan.resident_bytes) / (speed.rateMBps * 1e6));
}

void checkRandomReads(Patient &patient) {
  constexpr double kLeastMBps = 500;
  const moert_plan_info &plan = patient.plan;
  // A model without experts reads its weights in large pieces, once.
  uint64_t record = plan.slot_bytes ? plan.slot_bytes : patient.model->plan.record_bytes;
  uint64_t request = requestThatFits(patient, record ? record : kSequentialRequest);
  ReadSpeed speed = measure(patient, request, true);
  if (!speed.isKnown) {
    patient.findings.addUnknown("flash_random", "the pack cannot be read");
    return;
  }
  uint64_t worst = record ? static_cast<uint64_t>(patient.model->num_layers) * patient.model->top_k * request : 0;
  Finding &f =
      patient.findings.add("flash_random", speed.rateMBps < kLeastMBps ? State::Warning : State::Ok,
                           "%.0f MB/s, %.2f ms for a request of %.2f MiB (%s, %.1f MiB)", speed.rateMBps,
                           speed.requestMs, mebibytes(request), sourceOf(patient, speed), mebibytes(speed.bytes));
  auto milliseconds = [&](uint64_t bytes) { return static_cast<double>(bytes) / (speed.rateMBps * 1e3); };
  if (plan.hit_rate > 0)
    f.need(
        "500 MB/s; a token reads %.1f MiB with %.0f %% of its experts in memory, %.1f MiB with none: %.1f and %.1f ms "
        "(estimated)",
        mebibytes(plan.token_flash_bytes), 100 * plan.hit_rate, mebibytes(worst), milliseconds(plan.token_flash_bytes),
        milliseconds(worst));
  else
    f.need("500 MB/s; a token that finds no expert in memory reads %.1f MiB: %.1f ms (estimated)", mebibytes(worst),
           milliseconds(worst));
  f.advise("put the pack on the internal storage%s", plan.num_slots < plan.num_experts
                                                         ? ", or raise --memory so that more experts stay in memory"
                                                         : ": the start waits for it")
      .measure(speed.rateMBps, kLeastMBps, "MB/s");
}

} // namespace moerun
