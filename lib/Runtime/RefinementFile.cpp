// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RefinementFile.h"

#include "Files.h"
#include "mlatile/Runtime/Error.h"
#include "mlatile/Runtime/Kernel.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <mutex>
#include <nlohmann/json.hpp>

namespace mlatile {
namespace {
using Json = nlohmann::ordered_json;

/// Says that a file is one of these, and raised when its meaning changes.
constexpr const char *kSchemaKey = "mlatile_refinement";
constexpr int kSchema = 1;
/// Some thousand problems; more is something else.
constexpr size_t kMostBytes = 64u << 20;

/// What the times are of: this library and, where there is one, the compiler
/// that makes its kernels.
const std::string &build() {
  static const std::string text = [] {
    std::string made = MLATILE_VERSION;
    try {
      made += " compiler " + fnv1a(compilerInfo());
    } catch (const Error &) {
      made += " prebuilt";
    }
    return made;
  }();
  return text;
}

Json wayJson(const Candidate &way) {
  return {{"kernel", way.kernel},
          {"compute", way.compute},
          {"head_tile", way.headTile},
          {"candidate_tile", way.candidateTile},
          {"warps", way.warps},
          {"roles", way.roles},
          {"num_splits", way.numSplits},
          {"merge", way.merge},
          {"us", way.measured.value_or(0)}};
}

Candidate wayOf(const Json &json) {
  Candidate way;
  way.kernel = json.at("kernel").get<std::string>();
  way.compute = json.at("compute").get<std::string>();
  way.headTile = json.at("head_tile").get<int64_t>();
  way.candidateTile = json.at("candidate_tile").get<int64_t>();
  way.warps = json.at("warps").get<int64_t>();
  way.roles = json.at("roles").get<std::string>();
  way.numSplits = json.at("num_splits").get<int64_t>();
  way.merge = json.at("merge").get<std::string>();
  way.measured = json.at("us").get<double>();
  if (!std::isfinite(*way.measured) || *way.measured <= 0)
    throw Error("expected microseconds, got " + json.at("us").dump());
  return way;
}

RefinementEntry entryOf(const Json &json) {
  RefinementEntry entry;
  const Json &card = json.at("card");
  entry.card = {card.at("name").get<std::string>(),
                card.at("target").get<std::string>(),
                card.at("sms").get<int64_t>()};
  // Keys in the order of planningKey(), whoever wrote the file.
  entry.problem = nlohmann::json::parse(json.at("problem").dump()).dump();
  for (const Json &way : json.at("ways"))
    entry.ways.push_back(wayOf(way));
  return entry;
}

std::string cardText(const MeasuredCard &card) {
  return "`" + card.name + "` (" + card.target + ", " +
         std::to_string(card.sms) + " SMs)";
}

/// The file in use, read when it is first asked for.
struct InUse {
  std::mutex mutex;
  std::string path;
  std::shared_ptr<const RefinementFile> file;

  InUse() {
    if (const char *given = std::getenv("MLATILE_REFINEMENT"))
      path = given;
  }
};

InUse &inUse() {
  static InUse instance;
  return instance;
}
} // namespace

std::string planningKey(const Problem &p) {
  nlohmann::json json = {{"num_tokens", p.numTokens},
                         {"num_heads", p.numHeads},
                         {"width", p.width},
                         {"kv_format", p.kvFormat},
                         {"page_size", p.pageSize}};
  if (p.extraWidth) {
    json["extra_width"] = *p.extraWidth;
    json["extra_kv_format"] = p.extraFormat();
    json["extra_page_size"] = p.extraPageSize.value_or(p.pageSize);
  }
  auto set = [&](const char *name, bool value) {
    if (value)
      json[name] = true;
  };
  set("has_sink", p.hasSink);
  set("has_topk_length", p.hasLengths);
  set("has_extra_topk_length", p.hasExtraLengths);
  set("returns_lse", p.lse != LseKind::None);
  for (const auto &[name, value] : {std::pair{"kernel", &p.kernel},
                                    {"compute", &p.compute},
                                    {"merge", &p.merge}})
    if (*value != "auto")
      json[name] = *value;
  if (p.numSplits)
    json["num_splits"] = *p.numSplits;
  if (!p.params.empty())
    json["params"] = p.params;
  if (p.source) {
    Json source = {p.source->text, p.source->params, p.source->steps};
    json["source"] =
        fnv1a(source.dump(-1, ' ', false, Json::error_handler_t::replace));
  }
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

RefinementFile RefinementFile::read(const std::string &path) {
  RefinementFile file;
  file.path = path;
  std::error_code failed;
  if (!std::filesystem::exists(path, failed)) {
    file.ignored = "there is no such file";
    return file;
  }
  std::optional<std::string> text;
  if (std::filesystem::is_regular_file(path, failed) &&
      std::filesystem::file_size(path, failed) <= kMostBytes && !failed)
    text = readFile(path);
  Json json = Json::parse(text.value_or(""), nullptr, false);
  if (!json.is_object() || !json.contains(kSchemaKey)) {
    file.isForeign = true;
    file.ignored = "it holds no times of mlatile";
    return file;
  }
  if (json[kSchemaKey] != kSchema || json.value("build", Json()) != build()) {
    file.isOutdated = true;
    file.ignored = "its times are of another build";
    return file;
  }
  try {
    for (const Json &entry : json.at("entries"))
      file.entries.push_back(entryOf(entry));
  } catch (const std::exception &error) {
    file.entries.clear();
    file.isOutdated = true;
    file.ignored = std::string("it is damaged: ") + error.what();
  }
  return file;
}

const RefinementEntry *RefinementFile::find(const Problem &problem,
                                            const Plan &plan,
                                            std::string &why) const {
  if (!ignored.empty()) {
    why = "ignored, " + ignored;
    return nullptr;
  }
  std::string key = planningKey(problem);
  const RefinementEntry *other = nullptr;
  for (const RefinementEntry &entry : entries) {
    if (entry.problem != key)
      continue;
    if (entry.card.target == plan.target && entry.card.sms == plan.numSMs &&
        (problem.card.empty() || problem.card == entry.card.name)) {
      why = "times of " + cardText(entry.card);
      return &entry;
    }
    other = &entry;
  }
  why = other ? "ignored for this problem, measured on " + cardText(other->card)
              : "no times of this problem";
  return nullptr;
}

void RefinementFile::put(RefinementEntry entry) {
  std::erase_if(entries, [&](const RefinementEntry &old) {
    return old.problem == entry.problem && old.card.name == entry.card.name &&
           old.card.target == entry.card.target &&
           old.card.sms == entry.card.sms;
  });
  entries.push_back(std::move(entry));
}

std::string RefinementFile::text() const {
  Json json = {{kSchemaKey, kSchema}, {"build", build()}};
  json["entries"] = Json::array();
  for (const RefinementEntry &entry : entries) {
    Json one = {{"card",
                 {{"name", entry.card.name},
                  {"target", entry.card.target},
                  {"sms", entry.card.sms}}},
                {"problem", Json::parse(entry.problem)}};
    one["ways"] = Json::array();
    for (const Candidate &way : entry.ways)
      one["ways"].push_back(wayJson(way));
    json["entries"].push_back(std::move(one));
  }
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::shared_ptr<const RefinementFile> refinementInUse() {
  InUse &use = inUse();
  std::lock_guard lock(use.mutex);
  if (!use.file && !use.path.empty())
    use.file = std::make_shared<RefinementFile>(RefinementFile::read(use.path));
  return use.file;
}

void useRefinement(const std::string &path) {
  {
    InUse &use = inUse();
    std::lock_guard lock(use.mutex);
    use.path = path;
    use.file.reset();
  }
  forgetPlans();
}

void keepTimes(const std::string &path, const MeasuredCard &card,
               const Problem &problem, const std::vector<MeasuredWay> &ways) {
  RefinementFile file = RefinementFile::read(path);
  if (file.isForeign)
    throw ArgumentError("path", "expected a file of measured times, or none, "
                                "got '" +
                                    path + "', which holds something else");
  RefinementEntry entry{card, planningKey(problem), {}};
  for (const MeasuredWay &way : ways)
    if (way.candidate.measured)
      entry.ways.push_back(way.candidate);
  if (entry.ways.empty())
    return;
  file.put(std::move(entry));
  writeFile(path, file.text());
  InUse &use = inUse();
  {
    std::lock_guard lock(use.mutex);
    if (use.path != path)
      return;
    use.file.reset();
  }
  forgetPlans();
}

} // namespace mlatile
