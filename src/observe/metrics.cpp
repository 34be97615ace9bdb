#include "tiffany/observe/metrics.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "tiffany/base/error.hpp"
#include "tiffany/core/sleep.hpp"

namespace tiffany::observe {

namespace {

bool is_name(std::string_view name, bool colons) {
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) return false;
  return std::all_of(name.begin(), name.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           (colons && c == ':');
  });
}

std::string_view type_text(MetricType type) noexcept {
  return type == MetricType::counter ? "counter"
         : type == MetricType::gauge ? "gauge"
                                     : "histogram";
}

}  // namespace

void Gauge::add(double difference) noexcept {
  double seen = value_.load(std::memory_order_relaxed);
  while (!value_.compare_exchange_weak(seen, seen + difference, std::memory_order_relaxed)) {
  }
}

// ---- Histograms ----

Histogram::Histogram(std::span<const double> bounds)
    : bounds_(bounds.begin(), bounds.end()),
      buckets_(std::make_unique<std::atomic<std::uint64_t>[]>(bounds.size() + 1)) {
  for (std::size_t i = 0; i < bounds_.size(); ++i) {
    if (!std::isfinite(bounds_[i]) || (i > 0 && bounds_[i] <= bounds_[i - 1])) {
      throw Error(Errc::bad_argument,
                  "The bounds of a histogram must be finite and each above the one before it.");
    }
  }
}

void Histogram::observe(double value) noexcept {
  // upper_bound would not do: a bound belongs to its bucket ("at most").
  const auto place =
      std::isnan(value) ? bounds_.end() : std::lower_bound(bounds_.begin(), bounds_.end(), value);
  buckets_[static_cast<std::size_t>(place - bounds_.begin())].fetch_add(1,
                                                                        std::memory_order_relaxed);
  if (!std::isnan(value)) sum_.add(value);
}

std::uint64_t Histogram::count() const noexcept {
  std::uint64_t all = 0;
  for (std::size_t i = 0; i <= bounds_.size(); ++i) all += in_bucket(i);
  return all;
}

namespace buckets {

std::vector<double> exponential(double first, double factor, std::size_t count) {
  std::vector<double> all;
  for (double bound = first; all.size() < count; bound *= factor) all.push_back(bound);
  return all;
}
std::span<const double> run_and_wait() noexcept {
  static constexpr std::array<double, 13> kBounds{1e-6,     4e-6,     16e-6,    64e-6,    256e-6,
                                                  1.024e-3, 4.096e-3, 0.016384, 0.065536, 0.262144,
                                                  1.048576, 4,        16};
  return kBounds;
}
std::span<const double> completion() noexcept {
  static constexpr std::array<double, 17> kBounds{0.01,  0.02,  0.04, 0.08, 0.16,  0.32,
                                                  0.64,  1.28,  2.56, 5.12, 10.24, 20.48,
                                                  40.96, 81.92, 600,  3600, 86400};
  return kBounds;
}
std::span<const double> sync() noexcept {
  static constexpr std::array<double, 16> kBounds{50e-6,  100e-6, 200e-6, 400e-6, 800e-6, 1.6e-3,
                                                  3.2e-3, 6.4e-3, 0.0128, 0.0256, 0.0512, 0.1024,
                                                  0.2048, 0.4096, 0.8192, 1.6384};
  return kBounds;
}

}  // namespace buckets

// ---- Families ----

detail::MetricFamily::MetricFamily(MetricType what, std::string called, std::string about,
                                   LabelNames with)
    : type(what),
      name(std::move(called)),
      help(std::move(about)),
      labels(with.begin(), with.end()) {
  if (!is_name(name, true)) {
    throw Error(Errc::bad_argument,
                "\"" + name +
                    "\" is no name of a metric: letters, digits, '_' and ':', and no digit first.");
  }
  for (const std::string& label : labels) {
    if (!is_name(label, false) || label.starts_with("__") ||
        (type == MetricType::histogram && label == "le")) {
      throw Error(Errc::bad_argument, "\"" + label + "\" is no name of a label of " + name +
                                          ": letters, digits and '_', no digit and no \"__\" "
                                          "first, and not \"le\" for a histogram.");
    }
    if (std::count(labels.begin(), labels.end(), label) > 1) {
      throw Error(Errc::bad_argument, name + " has the label \"" + label + "\" twice.");
    }
  }
}

std::string detail::MetricFamily::key_of(LabelValues values) {
  std::string key;
  for (const std::string_view value : values) {
    key += value;
    key += '\xff';
  }
  return key;
}

void detail::MetricFamily::require_values(LabelValues values) const {
  if (values.size() == labels.size()) return;
  throw Error(Errc::bad_argument, name + " has " + std::to_string(labels.size()) +
                                      " labels, and was given the values of " +
                                      std::to_string(values.size()) + ".");
}

template <class M>
M& Family<M>::find(LabelValues values) {
  require_values(values);
  const std::lock_guard lock(mutex_);
  std::string key = key_of(values);
  auto found = places_.find(key);
  std::vector<std::string_view> others;
  if (found == places_.end() && series_.size() >= most_) {
    overflow_.add();
    others.assign(values.size(), "other");
    values = others;
    key = key_of(values);
    found = places_.find(key);
  }
  if (found != places_.end()) return *series_[found->second].metric;
  series_.push_back(Series{std::vector<std::string>(values.begin(), values.end()), make_()});
  places_.emplace(std::move(key), series_.size() - 1);
  return *series_.back().metric;
}

template <class M>
void Family<M>::write(Sample& out) const {
  const std::lock_guard lock(mutex_);
  out.head(type, name, help);
  std::vector<Sample::Label> pairs(labels.size());
  for (const Series& series : series_) {
    for (std::size_t i = 0; i < labels.size(); ++i) pairs[i] = {labels[i], series.values[i]};
    if constexpr (std::is_same_v<M, Histogram>) {
      out.histogram(pairs, *series.metric);
    } else {
      out.series(Sample::Labels(pairs), series.metric->value());
    }
  }
}

template class Family<Counter>;
template class Family<Gauge>;
template class Family<Histogram>;

// ---- All of them ----

Metrics::Metrics() {
  overflow_ = &counter("tiffany_metrics_overflow_total",
                       "Series that were asked for beyond the bound of their family.");
  failed_ = &counter("tiffany_metrics_failed_collectors_total",
                     "Collectors that threw, so that what they give is missing.");
}
Metrics::~Metrics() = default;

template <class M>
Family<M>& Metrics::family(MetricType type, std::string name, std::string help, LabelNames labels,
                           std::size_t most, typename Family<M>::Make make) {
  const std::lock_guard lock(mutex_);
  if (const auto found = names_.find(name); found != names_.end()) {
    auto& known = *found->second;
    if (known.type != type ||
        !std::equal(known.labels.begin(), known.labels.end(), labels.begin(), labels.end())) {
      throw Error(Errc::bad_argument, "There is a metric " + name + " of another type (" +
                                          std::string(type_text(known.type)) +
                                          ") or with other labels.");
    }
    return static_cast<Family<M>&>(known);
  }
  // The counter of overflows is the first to be made, and has no labels that could overflow.
  static Counter nobody;
  auto made =
      std::make_unique<Family<M>>(type, std::move(name), std::move(help), labels, most,
                                  std::move(make), overflow_ != nullptr ? *overflow_ : nobody);
  Family<M>& family = *made;
  families_.push_back(std::move(made));
  names_.emplace(family.name, &family);
  return family;
}

Family<Counter>& Metrics::counters(std::string name, std::string help, LabelNames labels,
                                   std::size_t most) {
  return family<Counter>(MetricType::counter, std::move(name), std::move(help), labels, most,
                         [] { return std::make_unique<Counter>(); });
}
Family<Gauge>& Metrics::gauges(std::string name, std::string help, LabelNames labels,
                               std::size_t most) {
  return family<Gauge>(MetricType::gauge, std::move(name), std::move(help), labels, most,
                       [] { return std::make_unique<Gauge>(); });
}
Family<Histogram>& Metrics::histograms(std::string name, std::string help, LabelNames labels,
                                       std::span<const double> bounds, std::size_t most) {
  (void)Histogram(bounds);  // bad bounds are refused here, and not at the first series
  return family<Histogram>(MetricType::histogram, std::move(name), std::move(help), labels, most,
                           [own = std::vector<double>(bounds.begin(), bounds.end())] {
                             return std::make_unique<Histogram>(own);
                           });
}
Counter& Metrics::counter(std::string name, std::string help) {
  return counters(std::move(name), std::move(help), {}).find({});
}
Gauge& Metrics::gauge(std::string name, std::string help) {
  return gauges(std::move(name), std::move(help), {}).find({});
}
Histogram& Metrics::histogram(std::string name, std::string help, std::span<const double> bounds) {
  return histograms(std::move(name), std::move(help), {}, bounds).find({});
}

Metrics::Collector::Collector(Collector&& other) noexcept
    : of_(std::exchange(other.of_, nullptr)), number_(other.number_) {}
Metrics::Collector& Metrics::Collector::operator=(Collector&& other) noexcept {
  std::swap(of_, other.of_);
  std::swap(number_, other.number_);
  return *this;
}
Metrics::Collector::~Collector() {
  if (of_ == nullptr) return;
  const std::lock_guard lock(of_->sources_mutex_);
  std::erase_if(of_->sources_, [this](const Source& source) { return source.number == number_; });
}

Metrics::Collector Metrics::collect(std::function<void(Sample&)> collector) {
  const std::lock_guard lock(sources_mutex_);
  sources_.push_back(Source{++last_source_, std::move(collector)});
  return Collector(*this, last_source_);
}

// Families never go, and their order stays. Collectors may go between two calls: a text may then
// miss one that it had not come to yet.
bool Metrics::write_family(std::size_t place, std::string& out, MetricFormat format) {
  std::unique_lock lock(mutex_);
  if (place >= families_.size()) return false;
  const detail::MetricFamily& family = *families_[place];
  lock.unlock();
  Sample sample(out, format);
  family.write(sample);
  return true;
}

bool Metrics::write_source(std::size_t place, std::string& out, MetricFormat format) {
  const std::lock_guard lock(sources_mutex_);
  if (place >= sources_.size()) return false;
  // A copy: a collector may add or remove others.
  const std::function<void(Sample&)> collector = sources_[place].collector;
  const std::size_t before = out.size();
  try {
    Sample sample(out, format);
    collector(sample);
  } catch (...) {  // what it has written may be half a family
    out.resize(before);
    failed_->add();
  }
  return true;
}

// Collectors first: a family that one of them makes is in the same text.
Task<std::string> Metrics::text(MetricFormat format) {
  std::string out;
  for (std::size_t i = 0; write_source(i, out, format); ++i) co_await yield();
  for (std::size_t i = 0; write_family(i, out, format); ++i) co_await yield();
  if (format == MetricFormat::open_metrics) out += "# EOF\n";
  co_return out;
}

std::string Metrics::text_now(MetricFormat format) {
  std::string out;
  for (std::size_t i = 0; write_source(i, out, format); ++i) {
  }
  for (std::size_t i = 0; write_family(i, out, format); ++i) {
  }
  if (format == MetricFormat::open_metrics) out += "# EOF\n";
  return out;
}

}  // namespace tiffany::observe
