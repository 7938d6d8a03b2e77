# cmake -D INPUT= -D OUTPUT= -P: writes the C++ file that embedded.h declares.
file(READ ${INPUT} text)
if(text MATCHES "\\)embedded\"")
  message(FATAL_ERROR "${INPUT} holds )embedded\", which would end its C++ literal")
endif()
file(WRITE ${OUTPUT} "// Made of ${INPUT}.
#include \"admin/embedded.h\"

namespace neliroute::admin {

std::string_view openapi_json() noexcept {
  return R\"embedded(${text})embedded\";
}

}  // namespace neliroute::admin
")
