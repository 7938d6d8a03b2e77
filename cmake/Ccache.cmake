# Uses ccache if it is installed. Its cache is beside librdkafka's, and all clones share it,
# whatever their folders are. CCACHE_DIR in the environment of cmake overrides that.
find_program(CCACHE ccache)
if(CCACHE AND PROJECT_IS_TOP_LEVEL AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(folder ${NELIROUTE_DEPS}/ccache)
  if(DEFINED ENV{CCACHE_DIR})
    set(folder $ENV{CCACHE_DIR})
  endif()
  # Precompiled headers need these; so do files that ninja made in this same second.
  set(sloppiness pch_defines,time_macros,include_file_mtime,include_file_ctime)
  # A file that it does not know is compiled without being preprocessed first, which would take
  # another tenth of the time: the compiler's own list says what the file includes.
  set(CMAKE_CXX_COMPILER_LAUNCHER
    env CCACHE_DEPEND=1 CCACHE_DIR=${folder} CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
    CCACHE_SLOPPINESS=${sloppiness} ${CCACHE})
endif()
