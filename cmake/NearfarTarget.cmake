# What every C++ target of this project is built with.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# -O2, because the instruction counts that bench/ prints are stated for it.
set(CMAKE_CXX_FLAGS_RELEASE "-O2")

add_library(nearfar_options INTERFACE)
target_include_directories(nearfar_options INTERFACE ${PROJECT_SOURCE_DIR}/core)
target_compile_options(nearfar_options INTERFACE -Wall -Wextra -Wconversion -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 reports overlapping copies inside std::string's operator+ (GCC PR 105651).
  target_compile_options(nearfar_options INTERFACE -Wno-restrict)
endif()
if(NEARFAR_SANITIZE)
  target_compile_options(nearfar_options INTERFACE
    -fsanitize=${NEARFAR_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(nearfar_options INTERFACE -fsanitize=${NEARFAR_SANITIZE})
endif()
