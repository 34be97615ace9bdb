module tiffany/bench/peer_go

go 1.19
