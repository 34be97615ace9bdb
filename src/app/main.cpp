// The whole of a program that is an App.
#include "app/cli.hpp"
#include "tiffany/app/app.hpp"

namespace tiffany {

int App::main(int count, char** arguments) { return app::cli_main(*this, count, arguments); }

}  // namespace tiffany
