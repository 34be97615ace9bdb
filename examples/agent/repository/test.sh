# The total of 2, 3 and 4 is 9.
found=$(sh ./total.sh 2 3 4)
if [ "$found" = 9 ]; then
  echo "ok"
else
  echo "the total of 2, 3 and 4 is $found, and not 9"
  exit 1
fi
