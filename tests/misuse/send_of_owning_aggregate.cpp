#include <tiffany/tiffany.hpp>

struct Message {
  int number;
  std::string text;
};

tiffany::Task<void> misuse(tiffany::Sender<Message> sender, std::string text) {
  co_await sender.send(Message{1, text});
}
