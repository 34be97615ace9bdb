module tiffany/bench/io

go 1.19
