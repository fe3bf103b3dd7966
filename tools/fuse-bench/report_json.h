// What all files that fuse-bench writes have in common.
#pragma once

#include "report.h"

#include <nlohmann/json.hpp>

#include <string>

namespace fuse::bench {

/// A program's kernels, bytes and times, and what came of its check.
nlohmann::json program_json(const Result &result, double copy);
nlohmann::json verdict_json(const Verdict &verdict);

/// The date, and the versions of all that took part.
nlohmann::json document_of(const Machine &machine);

/// Throws Error{Io}.
void write_document(const std::string &path, const nlohmann::json &document);

/// Writes such a document with measured rows and the copy that they stand beside. Throws Error{Io}.
void write_rows(const std::string &path, const Machine &machine, nlohmann::json rows);

}  // namespace fuse::bench
