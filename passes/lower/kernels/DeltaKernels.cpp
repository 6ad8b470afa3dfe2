// SPDX-License-Identifier: Apache-2.0
/// \file
/// Kernels of a Gated DeltaNet layer: tiles and memrefs around the emitted parts. Step: lower.
/// Main source: passes/lower/kernels/DeltaKernels.h.
#include "passes/lower/kernels/DeltaKernels.h"

#include "passes/lower/kernels/DeltaEmitter.h"
#include "passes/lower/kernels/Dot.h"

#include <numeric>

using namespace mlir;

namespace moec {

//===-- Specs -----------------------------------------------------------------------------------------------------===//

llvm::Error check(const ConvSpec &spec) {
  constexpr int64_t kMostRows = 16; // the window is in registers
  constexpr int64_t kMostChannels = int64_t(1) << 28;
  if (spec.maxTokens < 1 || spec.channels < 1 || spec.channels > kMostChannels || spec.length < 2 ||
      spec.length > kMostRows)
    return llvm::createStringError("conv expects at least 1 token, 1 to 2^28 channels and a length of 2 to %lld, but "
                                   "got %lld tokens, %lld channels and length %lld",
                                   (long long)kMostRows, (long long)spec.maxTokens, (long long)spec.channels,
                                   (long long)spec.length);
  if (spec.encoding.isInteger())
    return llvm::createStringError("conv expects weights of f32 or f16, but got %s", nameOf(spec.encoding).c_str());
  return llvm::Error::success();
}

llvm::Error check(const DeltaSpec &spec) {
  constexpr int64_t kMostHeads = 65536, kMostDim = 4096; // vectors of a head are on the stack
  auto isInside = [](int64_t value, int64_t most) { return value >= 1 && value <= most; };
  if (spec.maxTokens < 1 || !isInside(spec.keyHeads, kMostHeads) || !isInside(spec.valueHeads, kMostHeads) ||
      spec.valueHeads % spec.keyHeads != 0 || !isInside(spec.keyDim, kMostDim) || !isInside(spec.valueDim, kMostDim))
    return llvm::createStringError("delta rule expects at least 1 token, up to %lld value heads in a multiple of the "
                                   "key heads and dimensions of 1 to %lld, but got %lld tokens, %lld and %lld heads, "
                                   "dimensions %lld and %lld",
                                   (long long)kMostHeads, (long long)kMostDim, (long long)spec.maxTokens,
                                   (long long)spec.valueHeads, (long long)spec.keyHeads, (long long)spec.valueDim,
                                   (long long)spec.keyDim);
  bool isScalar = spec.rateColumns == spec.valueHeads;
  if (!isScalar && spec.rateColumns != spec.valueHeads * spec.keyDim)
    return llvm::createStringError("delta rule expects a decay with %lld columns, or %lld, but got %lld",
                                   (long long)spec.valueHeads, (long long)(spec.valueHeads * spec.keyDim),
                                   (long long)spec.rateColumns);
  if (spec.logLength < 1 || spec.rateColumns % spec.logLength != 0 ||
      (!isScalar && spec.rateColumns / spec.logLength % spec.keyDim != 0))
    return llvm::createStringError("delta rule expects one a_log for each head or fewer, but got %lld for %lld heads",
                                   (long long)spec.logLength, (long long)spec.valueHeads);
  if (spec.group != 0 && (spec.group < kFloatLanes || spec.group % kFloatLanes || spec.valueDim % spec.group))
    return llvm::createStringError("gated norm expects a group that is a multiple of 16 and divides the head, but got "
                                   "group %lld and heads of %lld",
                                   (long long)spec.group, (long long)spec.valueDim);
  return check(ConvSpec{spec.maxTokens, spec.keyColumns(), spec.length, spec.silu, spec.convEncoding});
}

int64_t deltaStripColumns(Isa isa) {
  // Sums of 4 registers: as many chains as hide the latency of an fma; 8 of 128 bits.
  return (isa == Isa::Avx512Vnni ? 4 : 2) * kFloatLanes;
}

namespace {

/// Types of the memrefs.
struct DeltaTypes {
  const DeltaSpec &spec;
  Builder builder;

  Type floats(ArrayRef<int64_t> shape) { return MemRefType::get(shape, builder.getF32Type()); }
  Type rows(int64_t columns) { return floats({spec.maxTokens, columns}); }
  Type keys() { return rows(spec.keyColumns()); }
  Type values() { return rows(spec.valueColumns()); }
  Type state() { return floats({spec.valueHeads, spec.keyDim, spec.valueDim}); }
  Type window(int64_t channels) { return floats({spec.length - 1, channels}); }
  Type stored(int64_t channels) {
    MatrixSpec matrix{channels, spec.length, spec.convEncoding, 0};
    return MemRefType::get({matrix.layout(LayoutFamily::X86).totalBytes()}, builder.getI8Type());
  }
  void appendRates(SmallVectorImpl<Type> &types) { types.append({rows(spec.rateColumns), rows(spec.valueHeads)}); }
  void appendDecay(SmallVectorImpl<Type> &types) {
    types.append({floats({spec.logLength}), floats({spec.rateColumns})});
  }
  void appendResult(SmallVectorImpl<Type> &types) {
    if (spec.group == 0)
      types.push_back(values());
    else
      appendActivationTypes(types, builder, spec.maxTokens, spec.valueColumns(), spec.group);
  }
};

/// Takes memrefs from the front.
struct Taker {
  ValueRange rest;
  Value operator()() {
    Value first = rest.front();
    rest = rest.drop_front();
    return first;
  }
  void result(const DeltaSpec &spec, DeltaMemrefs &memrefs) {
    if (spec.group == 0) {
      memrefs.y = (*this)();
      return;
    }
    memrefs.codes.codes = (*this)();
    memrefs.codes.scales = (*this)();
    memrefs.codes.sums = (*this)();
  }
};

/// All channels of a head of one convolution, in vectors that stay inside the row tiles of its weights.
void emitHeadConvolution(FloatBuilder &f, const ConvSpec &spec, const ConvMemrefs &memrefs, Value count, Value head,
                         int64_t headDim) {
  int64_t width = std::gcd(headDim, kFloatLanes);
  Value first = f.multiply(head, headDim);
  f.loop(f.index(0), f.index(headDim), width,
         [&](Value column) { emitConvolution(f, spec, memrefs, count, f.add(first, column), width); });
}

} // namespace

//===-- Steps for many tokens -------------------------------------------------------------------------------------===//

func::FuncOp buildConv(KernelContext &context, ModuleOp module, StringRef name, const ConvSpec &spec) {
  DeltaSpec whole;
  whole.maxTokens = spec.maxTokens;
  whole.length = spec.length;
  whole.convEncoding = spec.encoding;
  DeltaTypes types{whole, Builder(module.getContext())};
  Type rows = types.rows(spec.channels);
  return buildFloatKernel(context, module, name, {rows, types.stored(spec.channels), rows, types.window(spec.channels)},
                          [&](FloatBuilder &f, const FloatKernelArguments &a) {
                            ConvMemrefs memrefs{a.memrefs[0], a.memrefs[1], a.memrefs[2], a.memrefs[3]};
                            int64_t whole = spec.channels / kFloatLanes, tail = spec.channels % kFloatLanes;
                            constexpr int64_t kPerTile = kConvTileChannels / kFloatLanes;
                            Value end = f.minimum(f.multiply(a.tileEnd, kPerTile), f.index(whole));
                            f.loop(f.multiply(a.tileBegin, kPerTile), end, 1, [&](Value vector) {
                              emitConvolution(f, spec, memrefs, a.count, f.multiply(vector, kFloatLanes), kFloatLanes);
                            });
                            if (tail == 0)
                              return;
                            // The last tile has the tail.
                            Value last = f.index(spec.numTiles());
                            Value hasLast =
                                f.select(f.compare(arith::CmpIPredicate::eq, a.tileEnd, last), f.index(1), f.index(0));
                            f.loop(f.index(0), hasLast, 1, [&](Value) {
                              emitConvolution(f, spec, memrefs, a.count, f.index(whole * kFloatLanes), tail);
                            });
                          });
}

func::FuncOp buildDeltaRule(KernelContext &context, ModuleOp module, StringRef name, const DeltaSpec &spec) {
  DeltaTypes make{spec, Builder(module.getContext())};
  SmallVector<Type, 12> types{make.keys(), make.keys(), make.values()};
  make.appendRates(types);
  make.appendDecay(types);
  types.append({make.values(), make.state()});
  int64_t strip = deltaStripColumns(context.isa), strips = numDeltaStrips(spec, context.isa);
  int64_t whole = spec.valueDim / strip, tail = spec.valueDim % strip;
  return buildFloatKernel(context, module, name, types, [&](FloatBuilder &f, const FloatKernelArguments &a) {
    Taker take{a.memrefs};
    DeltaMemrefs memrefs;
    for (Value *memref : {&memrefs.q, &memrefs.k, &memrefs.v, &memrefs.a, &memrefs.b, &memrefs.aLog, &memrefs.dtBias,
                          &memrefs.o, &memrefs.state})
      *memref = take();
    DeltaEmitter emitter(f, spec, memrefs);
    auto emitTokens = [&](Value head, Value first, int64_t count) {
      f.loop(f.index(0), a.count, 1, [&](Value token) {
        emitter.emitKeyHead(token, emitter.keyHeadOf(head));
        emitter.emitRates(token, head);
        emitter.emitColumns(token, head, first, count);
      });
    };
    f.loop(a.tileBegin, a.tileEnd, 1, [&](Value tile) {
      Value head = f.divide(tile, strips), number = f.remainder(tile, strips), first = f.multiply(number, strip);
      if (tail == 0)
        return emitTokens(head, first, strip);
      if (whole == 0)
        return emitTokens(head, first, tail);
      OpBuilder &builder = f.getBuilder();
      Value isWhole = f.compare(arith::CmpIPredicate::ult, number, f.index(whole));
      auto branch = scf::IfOp::create(builder, context.location, isWhole, /*withElseRegion=*/true);
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(branch.thenBlock());
      emitTokens(head, first, strip);
      builder.setInsertionPointToStart(branch.elseBlock());
      emitTokens(head, first, tail);
    });
  });
}

func::FuncOp buildGatedNorm(KernelContext &context, ModuleOp module, StringRef name, const DeltaSpec &spec) {
  DeltaTypes make{spec, Builder(module.getContext())};
  SmallVector<Type, 6> types{make.values(), make.values(), make.floats({spec.valueDim})};
  make.appendResult(types);
  return buildFloatKernel(context, module, name, types, [&](FloatBuilder &f, const FloatKernelArguments &a) {
    Taker take{a.memrefs};
    DeltaMemrefs memrefs;
    for (Value *memref : {&memrefs.o, &memrefs.z, &memrefs.w})
      *memref = take();
    take.result(spec, memrefs);
    DeltaEmitter emitter(f, spec, memrefs);
    f.loop(a.tileBegin, a.tileEnd, 1, [&](Value token) {
      f.loop(f.index(0), f.index(spec.valueHeads), 1, [&](Value head) { emitter.emitNorm(token, head); });
    });
  });
}

//===-- The whole step --------------------------------------------------------------------------------------------===//

namespace {

/// Emits one tile of the whole step: a key head with its value heads.
struct StepEmitter {
  FloatBuilder &f;
  const DeltaSpec &spec;
  int64_t strip;
  DeltaMemrefs memrefs;
  ConvMemrefs q, k, v;
  Value count;

  Value valueHead(Value keyHead, Value number) {
    return spec.tiled ? f.add(f.multiply(number, spec.keyHeads), keyHead)
                      : f.add(f.multiply(keyHead, spec.valueHeads / spec.keyHeads), number);
  }
  void overHeads(Value keyHead, function_ref<void(Value)> body) {
    f.loop(f.index(0), f.index(spec.valueHeads / spec.keyHeads), 1,
           [&](Value number) { body(valueHead(keyHead, number)); });
  }

  void emitConvolutions(Value keyHead) {
    ConvSpec keySpec{spec.maxTokens, spec.keyColumns(), spec.length, spec.silu, spec.convEncoding};
    ConvSpec valueSpec{spec.maxTokens, spec.valueColumns(), spec.length, spec.silu, spec.convEncoding};
    emitHeadConvolution(f, keySpec, q, count, keyHead, spec.keyDim);
    emitHeadConvolution(f, keySpec, k, count, keyHead, spec.keyDim);
    overHeads(keyHead, [&](Value head) { emitHeadConvolution(f, valueSpec, v, count, head, spec.valueDim); });
  }

  /// One token of a head. States come from memory once a token: the strip after the one in work is asked for.
  void emitHead(DeltaEmitter &emitter, Value token, Value head) {
    emitter.emitRates(token, head);
    int64_t whole = spec.valueDim / strip * strip, tail = spec.valueDim - whole;
    Value nextHead = f.minimum(f.add(head, spec.tiled ? spec.keyHeads : 1), f.index(spec.valueHeads - 1));
    if (whole > 0)
      f.loop(f.index(0), f.index(whole), strip, [&](Value first) {
        Value after = f.add(first, strip);
        Value isLast = f.compare(arith::CmpIPredicate::uge, after, f.index(whole));
        DeltaStrip next{f.select(isLast, nextHead, head), f.select(isLast, f.index(0), after)};
        emitter.emitColumns(token, head, first, strip, &next);
      });
    if (tail > 0)
      emitter.emitColumns(token, head, f.index(whole), tail);
    emitter.emitNorm(token, head);
  }

  void emitTile(DeltaEmitter &emitter, Value keyHead) {
    emitConvolutions(keyHead);
    f.loop(f.index(0), count, 1, [&](Value token) {
      emitter.emitKeyHead(token, keyHead);
      overHeads(keyHead, [&](Value head) { emitHead(emitter, token, head); });
    });
  }
};

} // namespace

func::FuncOp buildDeltaStep(KernelContext &context, ModuleOp module, StringRef name, const DeltaSpec &spec) {
  DeltaTypes make{spec, Builder(module.getContext())};
  SmallVector<Type, 24> types{make.keys(), make.keys(), make.values(), make.values()};
  make.appendRates(types);
  types.append({make.stored(spec.keyColumns()), make.stored(spec.keyColumns()), make.stored(spec.valueColumns())});
  make.appendDecay(types);
  types.push_back(make.floats({spec.valueDim}));
  make.appendResult(types);
  types.append({make.window(spec.keyColumns()), make.window(spec.keyColumns()), make.window(spec.valueColumns())});
  types.push_back(make.state());
  return buildFloatKernel(context, module, name, types, [&](FloatBuilder &f, const FloatKernelArguments &a) {
    Taker take{a.memrefs};
    StepEmitter step{f, spec, deltaStripColumns(context.isa), {}, {}, {}, {}, a.count};
    DeltaMemrefs &m = step.memrefs;
    for (Value *memref :
         {&m.q, &m.k, &m.v, &m.z, &m.a, &m.b, &step.q.w, &step.k.w, &step.v.w, &m.aLog, &m.dtBias, &m.w})
      *memref = take();
    take.result(spec, m);
    for (Value *memref : {&step.q.state, &step.k.state, &step.v.state, &m.state})
      *memref = take();
    step.q.x = step.q.y = m.q;
    step.k.x = step.k.y = m.k;
    step.v.x = step.v.y = m.o = m.v;
    DeltaEmitter emitter(f, spec, m);
    f.loop(a.tileBegin, a.tileEnd, 1, [&](Value keyHead) { step.emitTile(emitter, keyHead); });
  });
}

} // namespace moec
