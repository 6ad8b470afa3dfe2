// SPDX-License-Identifier: Apache-2.0
/// \file
/// Sums of the memory plan, with checked arithmetic.
#include "lib/Plan/MemoryBudget.h"

#include "lib/Support/CheckedMath.h"
#include "lib/Support/Fault.h"
#include "lib/Support/Sizes.h"

#include <algorithm>

namespace moec {

llvm::Error MemoryBudget::add(llvm::StringRef name, uint64_t sizeBytes) {
  std::optional<uint64_t> sum = checkedAdd(fixed, sizeBytes);
  if (!sum || !checkedAdd(*sum, slotBytes * maxSlots))
    return fault("the memory plan exceeds 2^64 bytes with " + llvm::Twine(sizeBytes) + " bytes of " + name);
  fixed = *sum;
  auto known = std::find_if(consumers.begin(), consumers.end(), [&](const Consumer &c) { return c.name == name; });
  if (known == consumers.end())
    consumers.push_back({name.str(), sizeBytes});
  else
    known->sizeBytes += sizeBytes;
  return llvm::Error::success();
}

llvm::Error MemoryBudget::setSlots(uint64_t bytes, uint64_t fewest, uint64_t most) {
  std::optional<uint64_t> all = checkedMul(bytes, most);
  if (fewest > most)
    return fault("the model needs " + llvm::Twine(fewest) + " expert slots but has only " + llvm::Twine(most) +
                 " experts");
  if (!all || !checkedAdd(*all, fixed))
    return fault("the memory plan exceeds 2^64 bytes with " + llvm::Twine(most) + " expert slots of " +
                 llvm::Twine(bytes) + " bytes");
  slotBytes = bytes;
  minSlots = fewest;
  maxSlots = most;
  return llvm::Error::success();
}

llvm::Expected<uint64_t> MemoryBudget::slotsFor(uint64_t budgetBytes) const {
  if (budgetBytes >= minimumBytes())
    return slotBytes ? std::min(maxSlots, (budgetBytes - fixed) / slotBytes) : maxSlots;
  std::vector<Consumer> largest = consumers;
  if (slotBytes && minSlots)
    largest.push_back({"expert slots", slotBytes * minSlots});
  std::stable_sort(largest.begin(), largest.end(),
                   [](const Consumer &a, const Consumer &b) { return a.sizeBytes > b.sizeBytes; });
  largest.resize(std::min<size_t>(largest.size(), 3));
  std::string list;
  for (const Consumer &consumer : largest)
    list += (list.empty() ? "" : ", ") + consumer.name + " " + formatSize(consumer.sizeBytes);
  return fault("needs " + formatSizeExact(minimumBytes()) + ", budget is " + formatSizeExact(budgetBytes) + " (" +
               list + "); raise the budget, or lower the context, the chunk or the precision");
}

} // namespace moec
