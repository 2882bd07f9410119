# What every C++ target of this project is built with.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# A function that a shared object exports may be replaced by another's of the same name, so that no
# call to it can be inlined: what is called from outside says so, everything else is hidden.
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
# The instruction counts that bench/ prints are stated for these flags.
set(CMAKE_CXX_FLAGS_RELEASE "-O3 -DNDEBUG")

# The core's objects carry both machine code and what link-time optimisation needs. Tests link
# the first, quickly (nearfar_link_as_compiled: GCC takes the second unless told not to); what is
# measured or shipped (nearfar_optimise_at_link) links the second.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_BUILD_TYPE STREQUAL "Release")
  set(nearfar_lto_compile -flto=auto -ffat-lto-objects)
  set(nearfar_lto_link -flto=auto -O3)
  set(nearfar_plain_link -fno-lto)
endif()
function(nearfar_optimise_at_link target)
  target_link_options(${target} PRIVATE ${nearfar_lto_link})
endfunction()
function(nearfar_link_as_compiled target)
  target_link_options(${target} PRIVATE ${nearfar_plain_link})
endfunction()

# Much of what a compiler does is to read headers: a library's files are read ten at a time.
option(NEARFAR_TOGETHER "Compile the libraries' files ten at a time" ON)
function(nearfar_compile_together target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${NEARFAR_TOGETHER} UNITY_BUILD_BATCH_SIZE 10)
endfunction()

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
  if(NEARFAR_SANITIZE MATCHES "undefined")
    # Checks of every pointer that is followed, which make GCC take twice as long: only where memory
    # is handled raw. The address sanitizer finds null pointers and most overruns elsewhere, too;
    # what is given up there are misaligned objects and casts to a class that an object is not of.
    target_compile_options(nearfar_options INTERFACE
      $<$<NOT:$<BOOL:$<TARGET_PROPERTY:NEARFAR_RAW_MEMORY>>>:-fno-sanitize=null,alignment,object-size,vptr>)
  endif()
endif()
