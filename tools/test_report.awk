# Reads the output of `ctest --verbose` and prints one line, "<passed> <failed> <skipped>": tests of
# GoogleTest programs one by one, every other test of ctest as one. A program that ends without
# GoogleTest's summary counts as one failed test.
#
# With -v show=failures it prints instead what a person needs to see of the tests that failed: their
# names first, then what each of them printed. The last test of a program that began and did not end
# is the one that crashed.

match($0, /^[0-9]+: /) {
  id = substr($0, 1, RLENGTH - 2)
  line = substr($0, RLENGTH + 1)
  if (line ~ /^\[  PASSED  \] [0-9]+ test/) { passed += counted(line); summed[id] = 1 }
  else if (line ~ /^\[  SKIPPED \] [0-9]+ test/) skipped += counted(line)
  else if (line ~ /^\[  FAILED  \] [0-9]+ test/) { failed += counted(line); broken[id] = 1 }

  if (line ~ /^\[ RUN      \]/) { runs[id] = 1; running[id] = line "\n" }
  else if (line ~ /^\[       OK \]/ || line ~ /^\[  SKIPPED \] .* ms\)$/) running[id] = ""
  else if (line ~ /^\[  FAILED  \] .* ms\)$/) {
    output[id] = output[id] running[id] line "\n"
    names[id] = names[id] line "\n"
    running[id] = ""
  }
  else if (running[id] != "" || !runs[id]) running[id] = running[id] line "\n"
  next
}

match($0, /Test +#[0-9]+: /) {
  id = substr($0, RSTART, RLENGTH)
  gsub(/[^0-9]/, "", id)
  if ($0 ~ / Passed +[0-9.]+ sec/) { if (!(id in summed)) ++passed }
  else if ($0 ~ /\*\*\*Skipped/) ++skipped
  else if ($0 ~ /\*\*\*/) {
    if (!(id in broken)) ++failed
    report = report "\n" $0 "\n" names[id] output[id] running[id]
  }
}

END { if (show == "failures") printf "%s", report; else print passed + 0, failed + 0, skipped + 0 }

function counted(text) {
  sub(/^[^0-9]*/, "", text)
  return text + 0
}
