// SPDX-License-Identifier: Apache-2.0
/// \file
/// Greedy placement by size, its independent check and the lower bound.
#include "lib/Plan/ArenaPlanner.h"

#include "lib/Support/Fault.h"

#include "llvm/ADT/Twine.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace moec {

using llvm::Twine;

static bool liveTogether(const ArenaBuffer &a, const ArenaBuffer &b) {
  return a.firstUse <= b.lastUse && b.firstUse <= a.lastUse;
}

static llvm::Error checkBuffers(llvm::ArrayRef<ArenaBuffer> buffers) {
  int64_t total = 0;
  for (const ArenaBuffer &buffer : buffers) {
    if (buffer.sizeBytes < 0)
      return fault("buffer " + Twine(buffer.id) + " has " + Twine(buffer.sizeBytes) + " bytes, expected at least 0");
    if (buffer.firstUse > buffer.lastUse)
      return fault("buffer " + Twine(buffer.id) + " is used from step " + Twine(buffer.firstUse) + " to step " +
                   Twine(buffer.lastUse) + ", expected the last use not to be before the first");
    if (buffer.alignBytes <= 0 || (buffer.alignBytes & (buffer.alignBytes - 1)))
      return fault("buffer " + Twine(buffer.id) + " has alignment " + Twine(buffer.alignBytes) +
                   ", expected a power of two");
    if (__builtin_add_overflow(total, buffer.sizeBytes, &total) ||
        __builtin_add_overflow(total, buffer.alignBytes, &total))
      return fault("the sizes of " + Twine(buffers.size()) + " buffers exceed 2^63 bytes");
  }
  return llvm::Error::success();
}

/// The offset for `buffer`: the smallest gap between `taken` (sorted by offset, may overlap) that holds it, else the
/// end.
static int64_t placeInGap(const ArenaBuffer &buffer, llvm::ArrayRef<std::pair<int64_t, int64_t>> taken) {
  int64_t end = 0, best = -1, bestGap = INT64_MAX;
  auto align = [&](int64_t offset) { return (offset + buffer.alignBytes - 1) & -buffer.alignBytes; };
  for (auto [offset, endOffset] : taken) {
    int64_t start = align(end);
    if (start + buffer.sizeBytes <= offset && offset - start < bestGap) {
      best = start;
      bestGap = offset - start;
    }
    end = std::max(end, endOffset);
  }
  return best >= 0 ? best : align(end);
}

llvm::Expected<ArenaAssignment> planArena(llvm::ArrayRef<ArenaBuffer> buffers) {
  if (llvm::Error error = checkBuffers(buffers))
    return std::move(error);
  std::vector<size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return buffers[a].sizeBytes > buffers[b].sizeBytes; });
  ArenaAssignment result;
  result.offsets.assign(buffers.size(), 0);
  std::vector<std::pair<int64_t, int64_t>> taken;
  for (size_t position = 0; position < order.size(); ++position) {
    const ArenaBuffer &buffer = buffers[order[position]];
    taken.clear();
    for (size_t placed : llvm::ArrayRef(order).take_front(position))
      if (liveTogether(buffer, buffers[placed]))
        taken.push_back({result.offsets[placed], result.offsets[placed] + buffers[placed].sizeBytes});
    std::sort(taken.begin(), taken.end());
    int64_t offset = placeInGap(buffer, taken);
    result.offsets[order[position]] = offset;
    result.sizeBytes = std::max(result.sizeBytes, offset + buffer.sizeBytes);
  }
  return result;
}

llvm::Error checkArena(llvm::ArrayRef<ArenaBuffer> buffers, const ArenaAssignment &assignment) {
  if (assignment.offsets.size() != buffers.size())
    return fault("the arena has " + Twine(assignment.offsets.size()) + " offsets for " + Twine(buffers.size()) +
                 " buffers");
  llvm::Error errors = checkBuffers(buffers);
  auto report = [&](const Twine &text) { errors = llvm::joinErrors(std::move(errors), fault(text)); };
  for (size_t i = 0; i < buffers.size(); ++i) {
    int64_t offset = assignment.offsets[i], end = 0;
    if (offset < 0 || __builtin_add_overflow(offset, buffers[i].sizeBytes, &end) || end > assignment.sizeBytes)
      report("buffer " + Twine(buffers[i].id) + " at offset " + Twine(offset) + " with " + Twine(buffers[i].sizeBytes) +
             " bytes does not lie in the arena of " + Twine(assignment.sizeBytes) + " bytes");
    if (buffers[i].alignBytes > 0 && offset % buffers[i].alignBytes)
      report("buffer " + Twine(buffers[i].id) + " at offset " + Twine(offset) + " is not aligned to " +
             Twine(buffers[i].alignBytes) + " bytes");
    for (size_t j = 0; j < i; ++j) {
      int64_t other = assignment.offsets[j];
      bool common = buffers[i].sizeBytes && buffers[j].sizeBytes && offset < other + buffers[j].sizeBytes &&
                    other < offset + buffers[i].sizeBytes;
      if (common &&
          std::max(buffers[i].firstUse, buffers[j].firstUse) <= std::min(buffers[i].lastUse, buffers[j].lastUse))
        report("buffers " + Twine(buffers[j].id) + " at offset " + Twine(other) + " and " + Twine(buffers[i].id) +
               " at offset " + Twine(offset) + " overlap while both live in step " +
               Twine(std::max(buffers[i].firstUse, buffers[j].firstUse)));
    }
  }
  return errors;
}

int64_t arenaLowerBound(llvm::ArrayRef<ArenaBuffer> buffers) {
  // Bytes that begin or end to live at a step.
  std::map<int64_t, int64_t> changes;
  for (const ArenaBuffer &buffer : buffers) {
    changes[buffer.firstUse] += buffer.sizeBytes;
    changes[buffer.lastUse + 1] -= buffer.sizeBytes;
  }
  int64_t live = 0, largest = 0;
  for (auto [step, change] : changes)
    largest = std::max(largest, live += change);
  return largest;
}

} // namespace moec
