// SPDX-License-Identifier: Apache-2.0
/// \file
/// Reads rope_theta, partial_rotary_factor, rope_parameters (newer files) and rope_scaling (older ones).
#include "lib/Import/RopeReader.h"

using llvm::Expected;

namespace moec {

namespace {

constexpr double kMaxTheta = 1e12;
constexpr double kMaxFactor = 1e6;
/// What the older of these models had before the field was written.
constexpr double kDefaultTheta = 10000;
constexpr double kDefaultPartialFactor = 0.25;

/// The field that names the kind, of two spellings.
Expected<std::optional<JsonCursor>> kindOf(const JsonCursor &rope) {
  std::optional<JsonCursor> kind = rope.find("rope_type"), older = rope.find("type");
  if (kind && older &&
      (!older->json().asString() || kind->json().asString() == nullptr ||
       *older->json().asString() != *kind->json().asString()))
    return older->complain("is " + older->json().describe() + ", but " + kind->jsonPath() + " is " +
                           kind->json().describe() + "; expects the same in both");
  return kind ? kind : older;
}

bool isSameScaling(const RopeConfig &a, const RopeConfig &b) {
  return a.kind == b.kind && a.factor == b.factor && a.lowFactor == b.lowFactor && a.highFactor == b.highFactor &&
         a.originalPositions == b.originalPositions;
}

/// Two objects say how positions rotate and differ: in the field that is named, if both have it.
llvm::Error contradiction(const JsonCursor &first, const JsonCursor &second) {
  for (llvm::StringRef key :
       {"rope_type", "type", "factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"}) {
    std::optional<JsonCursor> a = first.find(key), b = second.find(key);
    if (a && b && a->json().describe() != b->json().describe())
      return b->complain("is " + b->json().describe() + ", but " + a->jsonPath() + " is " + a->json().describe() +
                         "; expects the same in both");
  }
  return second.complain("says another rotation than " + first.jsonPath() + "; expects the same in both");
}

/// One object that says how positions rotate; `isSaid` becomes true if it names a kind.
llvm::Error readScaling(const JsonCursor &rope, ModelConfig &config, bool &isSaid) {
  bool isOlder = llvm::StringRef(rope.jsonPath()).ends_with("rope_scaling");
  if (!rope.json().asObject())
    return rope.wrong(isOlder ? "null" : "an object or null");
  Expected<std::optional<JsonCursor>> kind = kindOf(rope);
  if (!kind)
    return kind.takeError();
  for (const JsonMember &member : rope.json().asObject()->members())
    if (member.value.asObject())
      return rope.complain("has the object '" + member.key + "'; rotations that differ by layer are not supported");
  if (!*kind)
    return isOlder ? rope.wrong("null") : llvm::Error::success();
  const std::string *name = (*kind)->json().asString();
  if (!name || (*name != "default" && *name != "linear" && *name != "llama3"))
    return (*kind)->complain("is " + (*kind)->json().describe() +
                             ", which is not supported, expects \"default\", \"linear\" or \"llama3\"");
  isSaid = true;
  if (*name == "default")
    return llvm::Error::success();
  FieldReader fields(rope);
  RopeConfig read = config.rope;
  read.factor = fields.number("factor", 1, kMaxFactor);
  read.kind = *name == "llama3" ? RopeKind::Llama3 : read.factor == 1 ? RopeKind::Plain : RopeKind::Linear;
  if (read.kind == RopeKind::Llama3) {
    read.lowFactor = fields.number("low_freq_factor", 1e-6, kMaxFactor);
    read.highFactor = fields.number("high_freq_factor", 1e-6, kMaxFactor);
    read.originalPositions =
        fields.countOr("original_max_position_embeddings", int64_t(1) << 24, config.maxPositionEmbeddings);
    if (!fields.hasFailed() && read.lowFactor >= read.highFactor)
      fields.keep(rope.find("low_freq_factor")
                      ->complain("is " + rope.find("low_freq_factor")->json().describe() +
                                 ", expects less than high_freq_factor, which is " +
                                 rope.find("high_freq_factor")->json().describe()));
  }
  config.rope = read;
  return fields.take();
}

/// A number that may stand in several places, which then agree.
class SharedNumber {
public:
  SharedNumber(FieldReader &fields, llvm::StringRef key, double least, double most)
      : fields(fields), key(key), least(least), most(most) {}

  void look(const JsonCursor &place) {
    std::optional<JsonCursor> field = place.find(key);
    if (!field)
      return;
    Expected<double> number = field->number(least, most);
    if (!number)
      return fields.keep(number.takeError());
    if (first && *number != value)
      return fields.keep(field->complain("is " + field->json().describe() + ", but " + first->jsonPath() + " is " +
                                         first->json().describe() + "; expects the same in both"));
    value = *number;
    first = field;
  }

  std::optional<JsonCursor> first;
  double value = 0;

private:
  FieldReader &fields;
  llvm::StringRef key;
  double least, most;
};

} // namespace

void readRope(FieldReader &fields, const JsonCursor &root, const ModelFamily &family, ModelConfig &config) {
  std::vector<JsonCursor> places{root};
  std::optional<JsonCursor> said;
  for (llvm::StringRef key : {"rope_parameters", "rope_scaling"})
    if (std::optional<JsonCursor> rope = root.find(key)) {
      RopeConfig before = config.rope;
      config.rope = {};
      bool isSaid = false;
      fields.keep(readScaling(*rope, config, isSaid));
      if (said && isSaid && !fields.hasFailed() && !isSameScaling(before, config.rope))
        fields.keep(contradiction(*said, *rope));
      if (isSaid)
        said = rope;
      else
        config.rope = before;
      places.push_back(*rope);
    }
  SharedNumber theta(fields, "rope_theta", 1, kMaxTheta);
  SharedNumber partial(fields, "partial_rotary_factor", 0, 1);
  for (const JsonCursor &place : places) {
    theta.look(place);
    partial.look(place);
  }
  if (theta.first || !family.needsTheta)
    config.rope.theta = theta.first ? theta.value : kDefaultTheta;
  else
    config.rope.theta = fields.number("rope_theta", 1, kMaxTheta);
  if (partial.first && !family.isHybrid && partial.value != 1)
    return fields.keep(
        partial.first->wrong("1; models of this kind that rotate a part of each head are not supported"));
  double factor = partial.first ? partial.value : family.isHybrid ? kDefaultPartialFactor : 1;
  config.rope.dim = static_cast<uint64_t>(static_cast<double>(config.headDim) * factor);
  if (!fields.hasFailed() && (config.rope.dim == 0 || config.rope.dim % 2 != 0))
    fields.keep((partial.first ? *partial.first : root)
                    .complain("lets " + llvm::Twine(config.rope.dim) + " of " + llvm::Twine(config.headDim) +
                              " values of a head rotate, expects an even number from 2"));
}

} // namespace moec
