// Metrics: counters, gauges and histograms with bounded labels, as Prometheus reads them.
//
//   observe::Metrics metrics;
//   auto& orders = metrics.counter("shop_orders_total", "Orders that were taken.");
//   auto& seconds = metrics.histograms("shop_ship_seconds", "Time to ship.", {"carrier"},
//                                      observe::buckets::exponential(0.01, 2, 14));
//   orders.add();
//   seconds.with("post").observe(0.2);
//   const std::string text = co_await metrics.text();     // Prometheus text 0.0.4
//
// A family is made once, and asked for again by the same name, type and labels; anything else under
// its name is an Error (Errc::bad_argument). A family has at most `most` series: a further one is
// the series whose labels all are "other", and is counted in tiffany_metrics_overflow_total. So
// memory stays bounded whatever the values of labels are. No metric goes while its Metrics lives:
// keep the reference, and asking costs nothing.
//
// What is computed only when somebody looks comes from a collector:
//
//   const auto guard = metrics.collect(
//       [&](observe::Sample& out) { out.gauge("queue_depth", "Jobs.", queue.size()); });
//
// Thread safety: add, set and observe may be called from any thread, and cost an atomic addition.
// Families are made, and text is asked for, from any thread; text locks one family at a time.
// Collectors run where text is asked for.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tiffany/engine/task.hpp"

namespace tiffany::observe {

// Only goes up.
class Counter {
 public:
  void add(std::uint64_t count = 1) noexcept { value_.fetch_add(count, std::memory_order_relaxed); }
  std::uint64_t value() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

// Goes up and down.
class Gauge {
 public:
  void set(double value) noexcept { value_.store(value, std::memory_order_relaxed); }
  void add(double difference) noexcept;
  double value() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_{0};
};

// How many values were at most each of the bounds, how many there were, and their sum.
class Histogram {
 public:
  // Strictly growing and finite; the bucket for what is above all of them comes by itself.
  explicit Histogram(std::span<const double> bounds);
  // A value that is no number counts only in count() and in the last bucket.
  void observe(double value) noexcept;

  std::uint64_t count() const noexcept;
  double sum() const noexcept { return sum_.value(); }
  std::span<const double> bounds() const noexcept { return bounds_; }
  // Of bucket i alone, and not of those below it.
  std::uint64_t in_bucket(std::size_t i) const noexcept {
    return buckets_[i].load(std::memory_order_relaxed);
  }

 private:
  std::vector<double> bounds_;
  std::unique_ptr<std::atomic<std::uint64_t>[]> buckets_;
  Gauge sum_;
};

namespace buckets {
// first, first * factor, ...: so many.
std::vector<double> exponential(double first, double factor, std::size_t count);
std::span<const double> run_and_wait() noexcept;  // 1 us to 16 s, by fours
std::span<const double> completion() noexcept;    // 10 ms to a day
std::span<const double> sync() noexcept;          // 50 us to 1.6 s, by twos
}  // namespace buckets

using LabelNames = std::initializer_list<std::string_view>;
using LabelValues = std::span<const std::string_view>;

enum class MetricType : std::uint8_t { counter, gauge, histogram };
enum class MetricFormat : std::uint8_t { prometheus, open_metrics };

// One family as it is written, for collectors.
class Sample {
 public:
  using Label = std::pair<std::string_view, std::string_view>;  // its name and its value
  using Labels = std::span<const Label>;

  Sample(std::string& out, MetricFormat format) noexcept : out_(out), format_(format) {}

  void counter(std::string_view name, std::string_view help, std::uint64_t value);
  void gauge(std::string_view name, std::string_view help, double value);
  // A family with labels: head once, then its series.
  void head(MetricType type, std::string_view name, std::string_view help);
  void series(std::initializer_list<Label> labels, double value) {
    series(Labels(labels.begin(), labels.size()), value);
  }
  void series(std::initializer_list<Label> labels, std::uint64_t value) {
    series(Labels(labels.begin(), labels.size()), value);
  }
  void series(Labels labels, double value);
  void series(Labels labels, std::uint64_t value);
  void histogram(Labels labels, const Histogram& value);
  // As above, of counts that the collector has: one for each bound, and one for what is above.
  void histogram(Labels labels, std::span<const double> bounds,
                 std::span<const std::uint64_t> in_bucket, double sum);

 private:
  void name_and_labels(std::string_view suffix, Labels labels, const std::string* bound = nullptr);

  std::string& out_;
  MetricFormat format_;
  std::string name_;  // of the series of the family that was begun
  MetricType type_ = MetricType::gauge;
};

namespace detail {

// What families of all types share.
class MetricFamily {
 public:
  MetricFamily(MetricType type, std::string name, std::string help, LabelNames labels);
  virtual ~MetricFamily() = default;
  virtual void write(Sample& out) const = 0;

  const MetricType type;
  const std::string name;
  const std::string help;
  const std::vector<std::string> labels;

 protected:
  // Joined by bytes that no label value has: bad UTF-8.
  static std::string key_of(LabelValues values);
  void require_values(LabelValues values) const;
};

}  // namespace detail

// Series of one name, told apart by the values of its labels.
template <class M>
class Family final : public detail::MetricFamily {
 public:
  using Make = std::function<std::unique_ptr<M>()>;
  Family(MetricType what, std::string called, std::string about, LabelNames with, std::size_t most,
         Make make, Counter& overflow)
      : MetricFamily(what, std::move(called), std::move(about), with),
        most_(most),
        make_(std::move(make)),
        overflow_(overflow) {}

  // As many as there are labels; Errc::bad_argument otherwise.
  template <class... Values>
  M& with(const Values&... values) {
    const std::string_view all[] = {std::string_view(values)...};
    return find(all);
  }
  M& find(LabelValues values);
  void write(Sample& out) const override;

 private:
  struct Series {
    std::vector<std::string> values;
    std::unique_ptr<M> metric;
  };
  std::size_t most_;
  Make make_;
  Counter& overflow_;
  mutable std::mutex mutex_;
  std::unordered_map<std::string, std::size_t> places_;
  std::vector<Series> series_;  // in the order they came
};

class Metrics {
 public:
  static constexpr std::size_t kMostSeries = 100;  // of a family, unless it is said otherwise

  Metrics();
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  // Names are those of Prometheus: letters, digits, '_' and ':', and no digit first.
  Counter& counter(std::string name, std::string help);
  Gauge& gauge(std::string name, std::string help);
  Histogram& histogram(std::string name, std::string help, std::span<const double> bounds);
  Family<Counter>& counters(std::string name, std::string help, LabelNames labels,
                            std::size_t most = kMostSeries);
  Family<Gauge>& gauges(std::string name, std::string help, LabelNames labels,
                        std::size_t most = kMostSeries);
  Family<Histogram>& histograms(std::string name, std::string help, LabelNames labels,
                                std::span<const double> bounds, std::size_t most = kMostSeries);

  // Called for each text, in the order they came. One that throws is left out of that text, and
  // counted in tiffany_metrics_failed_collectors_total. Gone with its guard, which waits for a text
  // that is asking it on another thread.
  class [[nodiscard("the collector goes with this guard")]] Collector {
   public:
    Collector() noexcept = default;
    Collector(Metrics& of, std::uint64_t number) noexcept : of_(&of), number_(number) {}
    Collector(Collector&& other) noexcept;
    Collector& operator=(Collector&& other) noexcept;
    ~Collector();

   private:
    Metrics* of_ = nullptr;
    std::uint64_t number_ = 0;
  };
  Collector collect(std::function<void(Sample&)> collector);

  // Everything, as text. The task lets others run between two families. Cancel: thrown there.
  Task<std::string> text(MetricFormat format = MetricFormat::prometheus);
  // The same at once, outside of tasks.
  std::string text_now(MetricFormat format = MetricFormat::prometheus);

 private:
  template <class M>
  Family<M>& family(MetricType type, std::string name, std::string help, LabelNames labels,
                    std::size_t most, typename Family<M>::Make make);
  // False: there is nothing at that place.
  bool write_family(std::size_t place, std::string& out, MetricFormat format);
  bool write_source(std::size_t place, std::string& out, MetricFormat format);

  struct Source {
    std::uint64_t number = 0;
    std::function<void(Sample&)> collector{};
  };
  std::mutex mutex_;  // of the families
  std::vector<std::unique_ptr<detail::MetricFamily>> families_;
  std::unordered_map<std::string_view, detail::MetricFamily*> names_;
  std::recursive_mutex sources_mutex_;  // held while a collector runs
  std::vector<Source> sources_;
  std::uint64_t last_source_ = 0;
  Counter* overflow_ = nullptr;
  Counter* failed_ = nullptr;
};

}  // namespace tiffany::observe
