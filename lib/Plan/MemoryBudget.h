// SPDX-License-Identifier: Apache-2.0
/// \file
/// Adds up what a compiled model needs and says how many expert slots a budget leaves. Part of the plan step.
/// Main source: docs/architecture.md ("Plan").
#ifndef LIB_PLAN_MEMORYBUDGET_H
#define LIB_PLAN_MEMORYBUDGET_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace moec {

/// Bytes that are always there, by class, and page slots of one size whose number the budget decides.
class MemoryBudget {
public:
  struct Consumer {
    std::string name; ///< "kv cache", "arena"
    uint64_t sizeBytes;
  };

  /// Adds to the class `name`. Errors: the sum exceeds 2^64 bytes.
  llvm::Error add(llvm::StringRef name, uint64_t sizeBytes);
  /// Says how many slots of `slotBytes` the model can use. Without a call there are none.
  /// Errors: more needed than useful, or all of them exceed 2^64 bytes.
  llvm::Error setSlots(uint64_t slotBytes, uint64_t minSlots, uint64_t maxSlots);

  llvm::ArrayRef<Consumer> fixedConsumers() const { return consumers; }
  uint64_t fixedBytes() const { return fixed; }
  /// With the fewest slots.
  uint64_t minimumBytes() const { return fixed + slotBytes * minSlots; }
  /// With a slot for every record.
  uint64_t fullBytes() const { return fixed + slotBytes * maxSlots; }

  /// Slots that `budgetBytes` leaves room for, at most all that are useful.
  ///
  /// Errors: the budget is below the minimum; the message has needed, given, the three largest consumers and what to
  /// do.
  llvm::Expected<uint64_t> slotsFor(uint64_t budgetBytes) const;

private:
  std::vector<Consumer> consumers;
  uint64_t fixed = 0, slotBytes = 0, minSlots = 0, maxSlots = 0;
};

} // namespace moec

#endif
