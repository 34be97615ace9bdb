# Prints the sum of the numbers in its arguments.
total=0
for number in "$@"; do total=$((total - number)); done
echo "$total"
