# cmake -DFOLDER=... -DOUT=... "-DMODULES=a.js;b.js;..." -P join.cmake
# joins index.html, style.css and the modules into one page without outside resources, and writes
#   OUT.html  the page
#   OUT.csp   the Content-Security-Policy it is to be sent with: only these very bytes may run
#   OUT.cc    both as C++ (slot_page.h)
# MODULES are in the order in which they may run: each imports only from those before it. Joined,
# they share one scope, so no two may have the same name at the top.

cmake_minimum_required(VERSION 3.25)

function(base64_of_hex hex result)
  set(digits "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
  string(APPEND hex "00")  # 32 bytes are two short of a multiple of three, with this one short
  string(LENGTH "${hex}" length)
  math(EXPR last "${length} - 6")
  set(text "")
  foreach(start RANGE 0 ${last} 6)
    string(SUBSTRING "${hex}" ${start} 6 six)
    foreach(shift 18 12 6 0)
      math(EXPR index "(0x${six} >> ${shift}) & 63")
      string(SUBSTRING "${digits}" ${index} 1 digit)
      string(APPEND text "${digit}")
    endforeach()
  endforeach()
  string(REGEX REPLACE ".$" "=" text "${text}")
  set(${result} "${text}" PARENT_SCOPE)
endfunction()

# The source that allows exactly this text between <script> and </script>, or <style> and </style>.
function(csp_source text result)
  string(SHA256 hex "${text}")
  base64_of_hex(${hex} base64)
  set(${result} "'sha256-${base64}'" PARENT_SCOPE)
endfunction()

# Puts the text in place of the one line of index.html that stands for it.
function(put_in_place line text)
  string(FIND "${page}" "${line}" found)
  if(found EQUAL -1)
    message(FATAL_ERROR "index.html lacks the line that join.cmake replaces: ${line}")
  endif()
  string(REPLACE "${line}" "${text}" page "${page}")
  set(page "${page}" PARENT_SCOPE)
endfunction()

set(script "\n")
set(earlier "")
foreach(module IN LISTS MODULES)
  file(READ "${FOLDER}/${module}" text)
  string(REGEX MATCHALL "\nimport [^;]* from \"\\./[a-z_]+\\.js\"" imports "\n${text}")
  foreach(import IN LISTS imports)
    string(REGEX REPLACE ".*\"\\./(.*)\"" "\\1" from "${import}")
    if(NOT from IN_LIST earlier)
      message(FATAL_ERROR "${module} imports from ${from}, which is not before it in MODULES")
    endif()
    if(import MATCHES " as ")
      message(FATAL_ERROR "${module} renames what it imports from ${from}: joined, it cannot")
    endif()
  endforeach()
  list(APPEND earlier "${module}")
  string(REGEX REPLACE "\nimport [^;]* from \"\\./[a-z_]+\\.js\";" "" text "\n${text}")
  string(REGEX REPLACE "\nexport " "\n" text "${text}")
  string(APPEND script "// --- ${module}${text}")
  string(REGEX MATCHALL "\n(const|let|class|function|async function) [A-Za-z0-9_]+" names "${text}")
  foreach(name IN LISTS names)
    string(REGEX REPLACE ".* " "" name "${name}")
    if(DEFINED owner_of_${name})
      message(FATAL_ERROR "${module} and ${owner_of_${name}} both have ${name}: joined, they clash")
    endif()
    set(owner_of_${name} ${module})
  endforeach()
endforeach()
if(script MATCHES "</script|<!--")
  message(FATAL_ERROR "a module holds </script or <!--, which would end or hide the script")
endif()

file(READ "${FOLDER}/style.css" style)
set(style "\n${style}")
file(READ "${FOLDER}/index.html" page)
put_in_place("<link rel=\"stylesheet\" href=\"style.css\">" "<style>${style}</style>")
put_in_place("<script type=\"module\" src=\"main.js\"></script>"
  "<script type=\"module\">${script}</script>")
if(page MATCHES "\\)page\"")
  message(FATAL_ERROR "the page holds )page\", which would end its C++ literal")
endif()

csp_source("${script}" script_source)
csp_source("${style}" style_source)
string(JOIN "; " csp
  "default-src 'none'" "script-src ${script_source}" "style-src ${style_source}"
  "connect-src 'self'" "img-src data:" "base-uri 'none'" "form-action 'none'"
  "frame-ancestors 'none'")

file(WRITE "${OUT}.html" "${page}")
file(WRITE "${OUT}.csp" "${csp}")
file(WRITE "${OUT}.cc" "// Made by admin/page/join.cmake.
#include \"admin/page/slot_page.h\"

namespace neliroute {

std::string_view slot_page() noexcept {
  return R\"page(${page})page\";
}

std::string_view slot_page_policy() noexcept {
  return R\"page(${csp})page\";
}

}  // namespace neliroute
")
