// SPDX-License-Identifier: Apache-2.0
/// \file
/// Instruction levels and weight layout families. A header of its own because the pack and the kernel generators need
/// the names but not the target descriptions. Main source: docs/pack-format.md ("Layout families").
#ifndef LIB_TARGET_ISA_H
#define LIB_TARGET_ISA_H

#include <cstdint>

namespace moec {

/// Instruction level that kernels are generated for. Results do not depend on it (numerics contract).
enum class Isa { Avx2, AvxVnni, Avx512Vnni, Neon, Dotprod, I8mm };

/// How weights lie in memory. The values are those of `moepack_layout_family`.
enum class LayoutFamily : uint32_t { Arm64 = 1, X86 = 2 };

constexpr LayoutFamily familyOf(Isa isa) {
  return isa == Isa::Avx2 || isa == Isa::AvxVnni || isa == Isa::Avx512Vnni ? LayoutFamily::X86 : LayoutFamily::Arm64;
}

} // namespace moec

#endif
