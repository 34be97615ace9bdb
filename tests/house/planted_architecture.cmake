# cmake -D CHECK= -D SCRATCH= -P planted_architecture.cmake
#
# tools/check_architecture.py finds each untruth that is planted in a page made for it in SCRATCH.
include(${CMAKE_CURRENT_LIST_DIR}/expect.cmake)
file(REMOVE_RECURSE ${SCRATCH})
file(WRITE ${SCRATCH}/src/core/box.cpp "
// Box::shake() is a comment {
class Box {
  int open() const noexcept { return close(1) + 1; }
  int lock();
};
int Box::lock() { return tip(); }
")
file(WRITE ${SCRATCH}/src/sync/lid.cpp "template <class T>\nvoid Lid<T>::lift(int by) {}\n")
file(WRITE ${SCRATCH}/docs/architecture.md "# Page
| `core` | comes after base |
```text
Box::open  (src/core/box.cpp)
Box::lock  (src/core/box.cpp)         and a note
  Lid::lift  (src/sync/lid.cpp)
```
3 functions, 2 hops, 1 module crossings.
```text
Box::shake  (src/core/box.cpp)
Box::close  (src/core/box.cpp)
Crate::open  (src/core/box.cpp)
tip  (src/core/box.cpp)
Box::open  (src/core/gone.cpp)
```
4 functions, 3 hops, 0 module crossings.
")
execute_process(COMMAND ${CHECK} ${SCRATCH} RESULT_VARIABLE status OUTPUT_VARIABLE output)
if(status EQUAL 0)
  message(FATAL_ERROR "The planted untruths were not found.")
endif()
expect_in("${output}"
    "architecture.md:10: src/core/box.cpp does not define Box::shake"
    "architecture.md:11: src/core/box.cpp does not define Box::close"
    "architecture.md:12: src/core/box.cpp does not define Crate::open"
    "architecture.md:13: src/core/box.cpp does not define tip"
    "architecture.md:14: names src/core/gone.cpp, which does not exist"
    "architecture.md:16: the drawing has 5 functions, 4 hops, 0 module crossings"
    "architecture.md:2: the table has core where tools/check_house.py has base")
if(output MATCHES "architecture.md:[4-8]:")
  message(FATAL_ERROR "What is true was complained about:\n${output}")
endif()
