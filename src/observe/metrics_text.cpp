// How families of metrics are written: Prometheus text 0.0.4 and OpenMetrics 1.0.
#include <charconv>
#include <cmath>

#include "tiffany/observe/metrics.hpp"

namespace tiffany::observe {

namespace {

// Backslashes, line breaks and, in values, quotes have an escape; the rest is bytes.
void escape(std::string& out, std::string_view text, bool quotes) {
  for (const char c : text) {
    if (c == '\\') {
      out += "\\\\";
    } else if (c == '\n') {
      out += "\\n";
    } else if (quotes && c == '"') {
      out += "\\\"";
    } else {
      out += c;
    }
  }
}

void write_number(std::string& out, double value) {
  if (std::isnan(value)) {
    out += "NaN";
  } else if (std::isinf(value)) {
    out += value > 0 ? "+Inf" : "-Inf";
  } else {
    char text[32];
    const auto end = std::to_chars(std::begin(text), std::end(text), value).ptr;
    out.append(text, end);
  }
}
void write_number(std::string& out, std::uint64_t value) {
  char text[20];
  const auto end = std::to_chars(std::begin(text), std::end(text), value).ptr;
  out.append(text, end);
}

std::string_view type_name(MetricType type) noexcept {
  return type == MetricType::counter ? "counter"
         : type == MetricType::gauge ? "gauge"
                                     : "histogram";
}

constexpr std::string_view kTotal = "_total";

}  // namespace

void Sample::head(MetricType type, std::string_view name, std::string_view help) {
  name_ = name;
  type_ = type;
  std::string_view family = name;
  // In OpenMetrics the family of a counter has no _total, its series do.
  if (format_ == MetricFormat::open_metrics && type == MetricType::counter &&
      family.ends_with(kTotal)) {
    family.remove_suffix(kTotal.size());
  }
  out_ += "# HELP ";
  out_ += family;
  out_ += ' ';
  escape(out_, help, format_ == MetricFormat::open_metrics);
  out_ += "\n# TYPE ";
  out_ += family;
  out_ += ' ';
  out_ += type_name(type);
  out_ += '\n';
}

void Sample::name_and_labels(std::string_view suffix, Labels labels, const std::string* bound) {
  out_ += name_;
  if (format_ == MetricFormat::open_metrics && type_ == MetricType::counter &&
      !name_.ends_with(kTotal)) {
    out_ += kTotal;
  }
  out_ += suffix;
  if (!labels.empty() || bound != nullptr) {
    char before = '{';
    for (const auto& [name, value] : labels) {
      out_ += before;
      before = ',';
      out_ += name;
      out_ += "=\"";
      escape(out_, value, true);
      out_ += '"';
    }
    if (bound != nullptr) {
      out_ += before;
      out_ += "le=\"" + *bound + "\"";
    }
    out_ += '}';
  }
  out_ += ' ';
}

void Sample::series(Labels labels, double value) {
  name_and_labels("", labels);
  write_number(out_, value);
  out_ += '\n';
}
void Sample::series(Labels labels, std::uint64_t value) {
  name_and_labels("", labels);
  write_number(out_, value);
  out_ += '\n';
}
void Sample::counter(std::string_view name, std::string_view help, std::uint64_t value) {
  head(MetricType::counter, name, help);
  series(Labels(), value);
}
void Sample::gauge(std::string_view name, std::string_view help, double value) {
  head(MetricType::gauge, name, help);
  series(Labels(), value);
}

void Sample::histogram(Labels labels, const Histogram& value) {
  // The buckets are read once: their sum is the count, whatever others add meanwhile.
  std::vector<std::uint64_t> in_bucket(value.bounds().size() + 1);
  for (std::size_t i = 0; i < in_bucket.size(); ++i) in_bucket[i] = value.in_bucket(i);
  histogram(labels, value.bounds(), in_bucket, value.sum());
}

void Sample::histogram(Labels labels, std::span<const double> bounds,
                       std::span<const std::uint64_t> in_bucket, double sum) {
  std::uint64_t below = 0;
  std::string bound;
  for (std::size_t i = 0; i <= bounds.size(); ++i) {
    below += in_bucket[i];
    bound.clear();
    if (i < bounds.size()) {
      write_number(bound, bounds[i]);
      // OpenMetrics wants a floating point number.
      if (format_ == MetricFormat::open_metrics && bound.find_first_of(".e") == std::string::npos) {
        bound += ".0";
      }
    } else {
      bound = "+Inf";
    }
    name_and_labels("_bucket", labels, &bound);
    write_number(out_, below);
    out_ += '\n';
  }
  name_and_labels("_sum", labels);
  write_number(out_, sum);
  out_ += '\n';
  name_and_labels("_count", labels);
  write_number(out_, below);
  out_ += '\n';
}

}  // namespace tiffany::observe
